import type { Area } from "./area";

/** What has a name. */
export interface Named {
  readonly name: string;
  rename(to: string): void;
}

export type Names = Map<string, Named>;

export enum Kind {
  Small,
  Large,
}

namespace Inner {
  export function deep(x: number): number {
    return x > 1 && x < 5 ? x : 0;
  }
}

export abstract class Shape implements Named {
  public name: string = "";
  private sides = 3;

  protected abstract area(): number;

  rename(to: string, force?: boolean): void {
    if (force || to !== this.name) {
      this.name = to;
    }
  }

  private hidden(): void {}
}

function pick<T>(items: T[], at = 0): T | undefined {
  for (let i = 0; i < items.length; i++) {
    if (i === at) {
      return items[i];
    }
  }
  return undefined;
}

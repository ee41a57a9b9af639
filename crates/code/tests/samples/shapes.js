import { area } from "./area.js";

/** The most sides. */
export const LIMIT = 3;

/**
 * A shape.
 */
export class Shape extends Base {
  #name;

  constructor(name) {
    super();
    this.#name = name;
  }

  /** Returns the area. */
  get area() {
    return this.#name ? area(this.#name) : 0;
  }

  static make(a, b) {
    for (const x of a) {
      if (x && b) {
        switch (x) {
          case 1:
            return 1;
          case 2:
            break;
          default:
            return 3;
        }
      } else if (x || b) {
        continue;
      } else {
        return null;
      }
    }
    return a ?? b;
  }

  #hidden() {
    do {
      this.x++;
    } while (this.x < 3);
  }
}

function* walk(node) {
  try {
    while (node) {
      yield node;
      node = node?.next;
    }
  } catch (error) {
    throw error;
  }
}

export const double = (x) => {
  if (!x) {
    return 0;
  }
  return x * 2;
};

export default function main() {
  return [1, 2].map((x) => (x > 1 ? x : 0));
}

"""Shapes."""
import os
from typing import Iterable

LIMIT = 3


class Shape(Base):
    """A shape.

    More about it.
    """

    SIDES = 4

    def __init__(self, name, sides=3):
        self.name = name

    @property
    def area(self) -> float:
        """Return the area."""
        if self.name and self.sides or self.big:
            return 1.0
        elif self.name == "x":
            return 2.0
        else:
            return 0.0

    def _hidden(self):
        return [x for x in range(3) if x > 1]


async def fetch(url: str, *names: str, **options):
    for name in names:
        try:
            while True:
                if name:
                    break
        except ValueError:
            pass
        except (KeyError, OSError) as error:
            raise RuntimeError from error
        finally:
            print("done")
    return 1 if url else 2


def outer(x):
    def inner(y):
        if y:
            return 1
        return 2

    match x:
        case 1:
            return inner(x)
        case _:
            return (lambda z: z if z else 0)(x)

#include <stdio.h>
#include "area.h"

/* The most sides. */
#define LIMIT 3
#define TWICE(x) ((x) + (x))

/* A point of the plane. */
struct point {
    int x;
    int y;
};

typedef struct point point_t;

enum kind { SMALL, LARGE };

int declared(int a, char *b);

/**
 * Classifies numbers.
 */
static const char *classify(int n, const struct point *p)
{
    int i;
    for (i = 0; i < n; i++) {
        if (p->x == i && p->y == i) {
            continue;
        }
        while (n > LIMIT || n < 0) {
            if (n == 5)
                goto out;
            else if (n == 6)
                n--;
            else
                n -= 2;
        }
    }
#ifdef DEBUG
    printf("%d\n", n);
#endif
    switch (n) {
    case 0:
    case 1:
        return "small";
    default:
        return n > 10 ? "large" : "medium";
    }
out:
    do {
        n--;
    } while (n);
    return NULL;
}

int main(void)
{
    return 0;
}

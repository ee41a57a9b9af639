package org.example.shapes;

import java.util.List;

/**
 * A shape.
 */
public abstract class Shapes implements Named {
    private static final int LIMIT = 3;

    /** Makes one. */
    protected Shapes(String name) {
        this.name = name;
    }

    @Override
    public int area(List<Integer> sides, boolean big) throws Exception {
        int sum = 0;
        for (int side : sides) {
            if (side > 1 && big || side == 7) {
                sum += side;
            } else {
                while (sum > 3) {
                    sum--;
                }
            }
        }
        try {
            sum = big ? 1 : 2;
        } catch (IllegalStateException | IllegalArgumentException e) {
            throw new Exception(e);
        } finally {
            sum++;
        }
        switch (sum) {
            case 1:
                return 1;
            case 2:
                return 2;
            default:
                return sum;
        }
    }

    private void run() {
        do {
            LIST.forEach(x -> {
                if (x > 1) {
                    work(x);
                }
            });
        } while (busy());
    }

    interface Named {
        String name();
    }

    enum Kind {
        SMALL, LARGE;

        Kind other() {
            return this == SMALL ? LARGE : SMALL;
        }
    }

    record Pair(int left, int right) {
        int sum() {
            return left + right;
        }
    }
}

class Increments {
    int freeSeats(int rows) {
        int free = 0;
        ROWS:
        for (int row = 0; row < rows; row++) {
            for (int seat = 0; seat < row; seat++) {
                if (isTaken(row, seat)) {
                    continue ROWS;
                }
            }
            free += row;
        }
        return free;
    }

    String season(int quarter) {
        switch (quarter) {
            case 1:
                return "winter";
            case 2:
                return "spring";
            case 3:
                return "summer";
            default:
                return "autumn";
        }
    }

    void upload() {
        try {
            if (isOnline()) {
                for (Part part : parts) {
                    while (part.hasMore()) {
                        part.send();
                    }
                }
            }
        } catch (Timeout | Refused failure) {
            if (isLast()) {
                log(failure);
            }
        }
    }

    void later() {
        Runnable task = () -> {
            if (isReady()) {
                run();
            }
        };
    }

    Price lowest(Shop shop) {
        if (shop.isClosed()) {
            return UNKNOWN;
        }
        boolean hasUnknown = false;
        for (Offer offer : shop.offers()) {
            if (offer.isCurrent() && !offer.isReserved()) {
                if (fits(offer)) {
                    Boolean cheaper = compare(offer);
                    if (cheaper == null) {
                        if (!hasUnknown) {
                            hasUnknown = true;
                        }
                    } else if (cheaper) {
                        return offer.price();
                    }
                }
            }
        }
        if (hasUnknown) {
            return UNKNOWN;
        }
        return null;
    }

    String plain(String text) {
        StringBuilder out = new StringBuilder();
        int at = text.startsWith("#") || text.startsWith("!") ? 1 : 0;
        while (at < text.length()) {
            char here = text.charAt(at);
            if (isSpace(here)) {
                out.append(' ');
            } else if (here == '[') {
                if (has(text, at + 1) && text.charAt(at + 1) == '[') {
                    if (has(text, at + 2) && isSpace(text.charAt(at + 2))) {
                        at += 2;
                    } else {
                        at += 1;
                    }
                } else {
                    out.append('(');
                }
            } else if (here == ']') {
                out.append(')');
            } else if (isQuote(here)) {
                out.append('"');
            } else {
                out.append(here);
            }
            at++;
        }
        return out.toString();
    }
}

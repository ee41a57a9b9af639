#include <vector>
#include "area.hpp"

namespace shapes {

// What has an area.
template <typename T>
class Shape : public Base {
public:
    explicit Shape(T name) : name_(name) {}
    virtual ~Shape() = default;
    virtual double area() const = 0;

    // Counts them.
    int count(const std::vector<int>& values, T&& extra) const {
        int n = 0;
        for (int v : values) {
            if (v > 1 && v < 5) {
                n++;
            } else if (v == 7 || v == 8) {
                n--;
            } else {
                n += 2;
            }
        }
        try {
            n = values.empty() ? 0 : n;
        } catch (const std::exception& e) {
            throw;
        }
        return n;
    }

private:
    T name_;
    void hidden();
};

struct Point {
    int x;
};

enum class Kind { Small, Large };

using Names = std::vector<int>;

} // namespace shapes

int shapes::Point::sum(int a)
{
    auto add = [](int x) { return x > 1 ? x : 0; };
    switch (a) {
    case 1: return add(1);
    default: return 0;
    }
}

// Kernels that search a tree over points, one thread for each point; see pointsets/primitives/searches.py.
//
// Each operation is rounded, by functions such as `__dadd_rn`: the compiler would fuse a
// multiplication and an addition, which changes the last bit.
#include "common.cuh"

enum : u64 { SQUARES, ABSOLUTE, LARGEST };
enum : u64 { SAME, ROOT, HALF, ANGLE };

struct Space {
    u64 size;
    const double* coordinates;
    const u64* ids;
    const double* boxes;
    u64 num_ids, axes, depth, norm, convert, is_single;

    __device__ u64 first_place(u64 leaf) const { return size * leaf >> depth; }

    __device__ double at(u64 place, u64 axis) const { return coordinates[axis * size + place]; }

    __device__ double accumulate(double total, double difference) const {
        if (norm == SQUARES) return __dadd_rn(total, __dmul_rn(difference, difference));
        difference = difference < 0.0 ? -difference : difference;
        if (norm == ABSOLUTE) return __dadd_rn(total, difference);
        return difference > total ? difference : total;
    }

    __device__ double between(u64 place, u64 other) const {
        double total = 0.0;
        for (u64 axis = 0; axis < axes; ++axis)
            total = accumulate(total, __dsub_rn(at(place, axis), at(other, axis)));
        return total;
    }

    // Return a lower bound of the reduced distance between a point and the box of a node.
    __device__ double from_box(u64 place, u64 node) const {
        double total = 0.0;
        for (u64 axis = 0; axis < axes; ++axis) {
            double x = at(place, axis), gap = 0.0;
            double below = __dsub_rn(boxes[2 * node * axes + axis], x);
            double above = __dsub_rn(x, boxes[(2 * node + 1) * axes + axis]);
            gap = below > gap ? below : gap;
            gap = above > gap ? above : gap;
            total = accumulate(total, gap);
        }
        return total;
    }

    __device__ static double step(double value, double t, double coefficient) {
        return __dadd_rn(__dmul_rn(value, t), coefficient);
    }

    __device__ double angle(double square) const {
        double t = __dmul_rn(square, 0.25), x = __dsqrt_rn(t);
        bool is_small = t <= 0.25;
        if (!is_small) {
            t = __dmul_rn(__dsub_rn(1.0, x), 0.5);
            t = t > 0.0 ? t : 0.0;
            x = __dsqrt_rn(t);
        }
        double above = step(3.47933107596021167570e-05, t, 7.91534994289814532176e-04);
        above = step(above, t, -4.00555345006794114027e-02);
        above = step(above, t, 2.01212532134862925881e-01);
        above = step(above, t, -3.25565818622400915405e-01);
        above = step(above, t, 1.66666666666666657415e-01);
        double below = step(7.70381505559019352791e-02, t, -6.88283971605453293030e-01);
        below = step(below, t, 2.02094576023350569471e+00);
        below = step(below, t, -2.40339491173441421878e+00);
        below = step(below, t, 1.0);
        double arc = __dadd_rn(x, __dmul_rn(x, __ddiv_rn(__dmul_rn(t, above), below)));
        const double pi = 3.14159265358979323846;
        return is_small ? __dmul_rn(2.0, arc) : __dsub_rn(pi, __dmul_rn(4.0, arc));
    }

    __device__ double to_distance(double total) const {
        if (convert == ROOT) total = __dsqrt_rn(total);
        if (convert == HALF) total = __dmul_rn(total, 0.5);
        if (convert == ANGLE) total = angle(total);
        return is_single ? double(__double2float_rn(total)) : total;
    }

    // Return an upper bound of the reduced distances whose distance is at most `distance`.
    __device__ double reduced_limit(double distance) const {
        double margin = is_single ? 3e-7 : 4e-15;
        distance = distance + distance * margin + (is_single ? 3e-45 : 0.0);
        if (convert == HALF) distance = 2.0 * distance;
        else if (convert != SAME) distance = distance * distance;
        return distance + 4e-323;
    }
};

// A walk over the tree, nearer halves first. Instead of a stack, `waiting` has a bit for each level:
// whether the sibling of the node on the path at this level is still to be visited.
struct Walk {
    u64 place, node, level, waiting;

    __device__ explicit Walk(u64 place) : place(place), node(1), level(0), waiting(0) {}

    // Enter the nearer half of the node.
    __device__ void descend(const Space& space) {
        u64 left = 2 * node, right = left + 1;
        bool is_right = space.from_box(place, right) < space.from_box(place, left);
        node = is_right ? right : left;
        waiting |= u64(1) << ++level;
    }

    // Go to the next sibling that waits; return whether there is one.
    __device__ bool advance() {
        if (!waiting) return false;
        u64 above = 63 - __clzll(waiting);
        node = node >> (level - above) ^ 1;
        level = above;
        waiting ^= u64(1) << above;
        return true;
    }
};

__global__ void find_neighbors(
    u64 size, const double* coordinates, const u64* ids, const double* boxes, u64 num_ids,
    u64 axes, u64 depth, u64 norm, u64 convert, u64 is_single, u64 k, u64 rank,
    double* distances, u64* neighbors, double* core, double* reach
) {
    u64 i = thread_index();
    if (i >= size) return;
    Space space{size, coordinates, ids, boxes, num_ids, axes, depth, norm, convert, is_single};
    double infinity = __longlong_as_double(0x7FF0000000000000), limit = infinity;
    double* list = distances + i * k;
    u64 *near = neighbors + i * k, found = 0;
    Walk walk(i);
    do {
        while (walk.level < depth && space.from_box(i, walk.node) <= limit)
            walk.descend(space);
        if (walk.level < depth || space.from_box(i, walk.node) > limit) continue;
        u64 other_leaf = walk.node - (u64(1) << depth), end = space.first_place(other_leaf + 1);
        for (u64 j = space.first_place(other_leaf); j < end; ++j) {
            double total = space.between(i, j);
            if (j == i || total > limit) continue;
            double distance = space.to_distance(total);
            if (found == k) {
                bool is_later = distance == list[k - 1] && ids[j] > ids[near[k - 1]];
                if (distance > list[k - 1] || is_later) continue;
            }
            u64 place = found < k ? found++ : k - 1;
            for (; place; --place) {
                double before = list[place - 1];
                if (before < distance || (before == distance && ids[near[place - 1]] < ids[j])) break;
                list[place] = before;
                near[place] = near[place - 1];
            }
            list[place] = distance;
            near[place] = j;
            if (found == k) limit = space.reduced_limit(list[k - 1]);
        }
    } while (walk.advance());
    core[i] = rank ? list[rank - 1] : 0.0;
    reach[i] = list[k - 1];
}

// `lightest` has the bits of weights, which are ordered as the weights because none is negative. A
// thread may read an old weight, which is an upper bound too.
__global__ void search_outside(
    u64 size, const double* coordinates, const u64* ids, const double* boxes, u64 num_ids,
    u64 axes, u64 depth, u64 norm, u64 convert, u64 is_single, const double* core,
    const u64* fragment, const u64* label, u64* lightest, u64* nearest, double* bound
) {
    u64 i = thread_index();
    if (i >= size) return;
    Space space{size, coordinates, ids, boxes, num_ids, axes, depth, norm, convert, is_single};
    u64 own = fragment[i], found = nearest[i];
    if (found < size && fragment[found] != own) {
        lower(lightest + own, u64(__double_as_longlong(bound[i])));
        return;
    }
    found = size;
    double best = __longlong_as_double(load(lightest + own));
    if (bound[i] <= best && core[i] <= best) {
        double limit = space.reduced_limit(best);
        Walk walk(i);
        do {
            while (walk.level < depth && label[walk.node] != own
                   && space.from_box(i, walk.node) <= limit)
                walk.descend(space);
            if (walk.level < depth || label[walk.node] == own
                || space.from_box(i, walk.node) > limit)
                continue;
            u64 other_leaf = walk.node - (u64(1) << depth), end = space.first_place(other_leaf + 1);
            for (u64 j = space.first_place(other_leaf); j < end; ++j) {
                if (fragment[j] == own) continue;
                double total = space.between(i, j);
                if (total > limit) continue;
                double weight = space.to_distance(total);
                weight = core[i] > weight ? core[i] : weight;
                weight = core[j] > weight ? core[j] : weight;
                if (weight > best || (weight == best && found < size && ids[j] > ids[found])) continue;
                best = weight;
                found = j;
                limit = space.reduced_limit(best);
            }
        } while (walk.advance());
        if (found < size) lower(lightest + own, u64(__double_as_longlong(best)));
        bound[i] = best > bound[i] ? best : bound[i];
    }
    nearest[i] = found;
}

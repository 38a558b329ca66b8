/* Blocks of a few kilobytes: memcpy spends as long on choosing a way as on copying them. */
#include "kernels/blocks.h"
#include "kernels/lanes.h"

namespace {

/* The last 64 bytes are copied as such: they may overlap with those before. */
void copy(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t bytes,
          int64_t count) {
    typedef Lanes<uint8_t> Bytes;
    for (int64_t b = 0; b < count; b++, to += to_step, from += from_step) {
        const uint8_t *in = (const uint8_t *)from;
        uint8_t *out = (uint8_t *)to;
        int64_t i = 0;
        for (; i + 256 <= bytes; i += 256) {
            Bytes set[4];
            for (int s = 0; s < 4; s++)
                set[s] = Bytes::load(in + i + 64 * s);
            for (int s = 0; s < 4; s++)
                set[s].store(out + i + 64 * s);
        }
        for (; i + 64 <= bytes; i += 64)
            Bytes::load(in + i).store(out + i);
        if (i < bytes)
            Bytes::load(in + bytes - 64).store(out + bytes - 64);
    }
}

}  // namespace

extern const fl_block_kernels FL_LEVEL(fl_block_kernels) = {copy};

/* The caller's buffers as the memory that results are computed in. */
#pragma once
#include "standalone/program.h"
#include "flambeau/runtime.h"

/* A tensor over memory that somebody else keeps. */
Ref over_memory(void *data, size_t bytes, bool is_constant, int dtype, int ndim,
                const int64_t *shape);

/* The outputs' buffers that share no memory with another one; results of others are copied. */
Rooms find_rooms(const flambeau_program &p, const flambeau_tensor *inputs,
                 const flambeau_tensor *outputs);
/* That of a value, or NULL. */
const Room *room_of(const Rooms *rooms, int value);
/* A new value of this form there, or NULL where it does not fit. */
Ref in_room(const Rooms *rooms, int value, const fl_spec &spec);

/* Whether a result is all of memory that neither inputs, weights nor other results lie in. */
bool is_alone(const std::vector<Ref> &results, size_t index, const std::vector<Ref> &inputs,
              const flambeau_session &session);

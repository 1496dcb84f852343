export { type Agenda, createAgenda } from "./due_queue.ts";
export type { Indexed } from "./shards.ts";
export { type Sweep, type SweepOptions, sweepAgenda } from "./sweep.ts";
export { indexedUsers, type MetUser } from "./user_index.ts";

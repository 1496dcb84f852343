export { type Agenda, createAgenda } from "./agenda.ts";
export type { Indexed } from "./places.ts";
export { type Sweep, type SweepOptions, sweepAgenda } from "./sweep.ts";
export { indexedUsers, type MetUser } from "./user_index.ts";

/**
 * Users of a project as they are stored, and the ways to them.
 *
 * A user is one record in a partition of its own. Ways to it (an external id, a device) are records elsewhere that
 * name the user; they are written before the user, so that a crash leaves at most a way to nobody.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import { decide, type Partition, type Store, tenantPartition } from "../storage/mod.ts";

/** Most logins that a user's history keeps; the oldest is dropped first. */
export const loginHistoryMax = 50;
/** Most devices that a user keeps; the one unused for longest is dropped first. */
export const devicesMax = 20;

/** A device of a user. Times in Unix seconds. */
export interface Device {
  readonly deviceId: string;
  readonly signUp: number;
  readonly lastLogin: number;
}

/** A user of one project. Times in Unix seconds. */
export interface User {
  readonly userId: string;
  readonly externalId: string;
  readonly provider: "noLogin" | "anonymous";
  readonly username: string;
  readonly signUp: number;
  readonly loginHistory: readonly number[];
  readonly devices: readonly Device[];
  readonly appProfile: Readonly<Record<string, unknown>>;
}

/** Reads and writes users. */
export interface Users {
  /** The user, or null where the project has none with this id. */
  byId(projectId: string, userId: string): Promise<User | null>;
  /** The user that the external id belongs to, or null. */
  byExternalId(projectId: string, externalId: string): Promise<User | null>;
  /** Stores a new user with the way from its external id. A user that is there already stays as it is. */
  create(projectId: string, user: User): Promise<User>;
  /** Changes a user by a pure function, whoever else does so at the same time; null where there is none. */
  update(projectId: string, userId: string, change: (user: User) => User): Promise<User | null>;
  /** The ids that the device was first registered with: `ids` if it was not known. Racers all get the same. */
  claimDevice(projectId: string, device: DeviceKey, ids: UserIds): Promise<UserIds>;
}

/** What tells one anonymous registration from another. */
export interface DeviceKey {
  readonly deviceId: string;
  readonly additionalId: string;
}

/** The ids of a user. */
export interface UserIds {
  readonly userId: string;
  readonly externalId: string;
}

/** Creates the users of all projects over a store. */
export function createUsers(store: Store): Users {
  async function byId(projectId: string, userId: string): Promise<User | null> {
    const [stored] = await store.read(userPartition(projectId, userId), [{ type: "record", key: "user" }]);
    return stored === null ? null : (JSON.parse(stored.value) as User);
  }
  return {
    byId,
    async byExternalId(projectId, externalId) {
      const [way] = await store.read(externalIdPartition(projectId, externalId), [
        { type: "record", key: "user" },
      ]);
      return way === null ? null : await byId(projectId, JSON.parse(way.value) as string);
    },
    async create(projectId, user) {
      await store.commit(externalIdPartition(projectId, user.externalId), {
        writes: [{ type: "put", key: "user", value: JSON.stringify(user.userId) }],
      });
      return await decide(store, userPartition(projectId, user.userId), {
        reads: [{ type: "record", key: "user" }],
        idempotent: true,
        apply: ([stored]) =>
          stored === null
            ? { writes: userWrites(user), answer: user }
            : { writes: [], answer: JSON.parse(stored.value) as User },
      });
    },
    update: (projectId, userId, change) =>
      decide(store, userPartition(projectId, userId), {
        reads: [{ type: "record", key: "user" }],
        apply: ([stored]) => {
          if (stored === null) return { writes: [], answer: null };
          const user = change(JSON.parse(stored.value) as User);
          return { writes: userWrites(user), answer: user };
        },
      }),
    claimDevice: (projectId, device, ids) =>
      decide(store, devicePartition(projectId, device), {
        reads: [{ type: "record", key: "user" }],
        idempotent: true,
        apply: ([stored]) =>
          stored === null
            ? { writes: [{ type: "put", key: "user", value: JSON.stringify(ids) }], answer: ids }
            : { writes: [], answer: JSON.parse(stored.value) as UserIds },
      }),
  };
}

/** The user after a login on a device that it has or now gets. */
export function loggedIn(user: User, deviceId: string, now: number): User {
  const known = user.devices.find(device => device.deviceId === deviceId);
  const device: Device = { deviceId, signUp: known?.signUp ?? now, lastLogin: now };
  const others = user.devices.filter(other => other.deviceId !== deviceId);
  return {
    ...user,
    loginHistory: [...user.loginHistory, now].slice(-loginHistoryMax),
    devices: [...others, device].slice(-devicesMax),
  };
}

/** The clock's time in whole Unix seconds. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock() / 1_000);
}

/** Where a user's own records are. The name has a record of its own because boards read it, and nothing else, often. */
export function userPartition(projectId: string, userId: string): Partition {
  return tenantPartition({ project: projectId }, "user", userId);
}

function externalIdPartition(projectId: string, externalId: string): Partition {
  return tenantPartition({ project: projectId }, "external", externalId);
}

function devicePartition(projectId: string, { deviceId, additionalId }: DeviceKey): Partition {
  return tenantPartition({ project: projectId }, "device", deviceId, additionalId);
}

function userWrites(user: User): { type: "put"; key: string; value: string }[] {
  return [
    { type: "put", key: "user", value: JSON.stringify(user) },
    { type: "put", key: "name", value: user.username },
  ];
}

/**
 * Users and sessions that a process wrote whose clock was far ahead: their sessions would live longer, and their logins count as
 * recent for longer.
 *
 * @module
 */

import { mapConcurrent } from "../../storage/background/mod.ts";
import { decide, type PartitionLister, type Store, type Stored, type Write } from "../../storage/mod.ts";
import { aheadMsMax } from "../users/mod.ts";
import { boardRead, rowWrites, type SessionRow, sessionAgeMsMax, sessionRead } from "./sessions/session.ts";
import { allUserIds, type StoredUser, userPartition, userRead } from "./users.ts";

/** Users that are examined at a time. */
const usersAtOnce = 16;

interface FutureLogin {
  readonly name: string;
  repair(): Promise<void>;
}

/** Examines every user, in groups: null for each without a time ahead of now (Unix ms). */
export async function* findFutureLogins(
  store: Store & PartitionLister,
  now: number,
): AsyncGenerator<readonly (FutureLogin | null)[], void> {
  for await (const group of allUserIds(store)) {
    yield await mapConcurrent(group, usersAtOnce, user => futureLoginOf(store, user, now));
  }
}

async function futureLoginOf(
  store: Store,
  { projectId, userId }: { readonly projectId: string; readonly userId: string },
  now: number,
): Promise<FutureLogin | null> {
  const partition = userPartition(projectId, userId);
  const [{ entries }] = await store.read(partition, [boardRead]);
  const reads = [userRead, ...entries.map(({ member }) => sessionRead(member))];
  const stored = await store.read(partition, reads);
  if (repairWrites(stored, now).length === 0) return null;
  return {
    name: `user ${userId} of project ${projectId}`,
    repair: () =>
      decide(store, partition, {
        reads,
        idempotent: true,
        apply: found => ({ writes: repairWrites(found, now), answer: undefined }),
      }),
  };
}

function repairWrites([user, ...sessions]: readonly (Stored | null)[], now: number): readonly Write[] {
  return [
    ...(user == null ? [] : userWrites(user, now)),
    ...sessions.flatMap(stored => (stored === null ? [] : sessionWrites(stored, now))),
  ];
}

function userWrites({ value }: Stored, now: number): readonly Write[] {
  const user = JSON.parse(value) as StoredUser;
  const at = (seconds: number): number =>
    seconds * 1_000 > now + aheadMsMax ? Math.floor(now / 1_000) : seconds;
  const { account, social } = user;
  const dated: StoredUser = {
    ...user,
    signUp: at(user.signUp),
    loginHistory: user.loginHistory.map(at),
    devices: user.devices.map(device => ({
      ...device,
      signUp: at(device.signUp),
      lastLogin: at(device.lastLogin),
    })),
    ...(account === undefined ? {} : { account: { ...account, updatedAt: at(account.updatedAt) } }),
    ...(social === undefined ? {} : { social: { ...social, updatedAt: at(social.updatedAt) } }),
  };
  const text = JSON.stringify(dated);
  return text === value ? [] : [{ type: "put", key: userRead.key, value: text }];
}

function sessionWrites({ value }: Stored, now: number): readonly Write[] {
  const row = JSON.parse(value) as SessionRow;
  const at = (time: number): number => (time > now + aheadMsMax ? now : time);
  const createdAt = at(row.createdAt);
  const dated: SessionRow = {
    ...row,
    createdAt,
    lastSeen: at(row.lastSeen),
    rotatedAt: at(row.rotatedAt),
    authenticatedAt: at(row.authenticatedAt),
    expiresAt: Math.min(row.expiresAt, createdAt + sessionAgeMsMax),
  };
  return JSON.stringify(dated) === value ? [] : rowWrites(dated);
}

/**
 * The indexes of custom fields, which the settings of an organisation declare.
 *
 * An update is listed before the profile changes and taken off the list after the index was written, so that the update of a
 * process that dies in between is found and repaired. Values are written "as of" the version of the profile: late ones change
 * nothing. A value may be too many in an index, never too few once an update is done: the profile decides.
 */

import { uuid } from "../../../auth/crypto/mod.ts";
import type { Clock, RandomBytes } from "../../../auth/mod.ts";
import { applyWrites } from "../../../storage/background/mod.ts";
import type { Score, Store, Write } from "../../../storage/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { spaceUserPartition } from "../../loyalty/user/state.ts";
import {
  type DeclaredIndex,
  declaredIndexes,
  followUser,
  textScore,
  type UserName,
  userBoards,
  userIndexPartition,
  userShardPartitions,
} from "../../users/mod.ts";
import type { CustomValue } from "./custom_fields.ts";
import type { ProfilePatch } from "./patch.ts";
import { type ProfileRecord, parseProfileRecord, readProfileRecord } from "./record.ts";

/** Time after which an update counts as interrupted, in ms: far longer than one takes. */
const interruptedMs = 60_000;
/** An update is a uuid and the id of its user. */
const uuidLength = 36;
/** The value of users who no longer have a field. No text has it. */
const absentScore = -1;

/** Returns the score of a value: numbers keep their order, texts have a digest, and no list is indexed. */
export function fieldScore(value: CustomValue): number {
  if (typeof value === "object") return absentScore;
  if (typeof value === "number") return value;
  return typeof value === "boolean" ? Number(value) : textScore(value);
}

function valueWrite(member: string, name: string, { customFields, version: asOf }: ProfileRecord): Score {
  const value = Object.hasOwn(customFields, name) ? customFields[name] : undefined;
  const score = value === undefined ? absentScore : fieldScore(value);
  return { type: "score", op: "set", key: userBoards.field(name), member, score, asOf };
}

export type FieldIndexes = ReturnType<typeof createFieldIndexes>;

/** Creates the indexes of a process. */
export function createFieldIndexes({
  store,
  directory,
  clock,
  random,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly directory: Pick<Directory, "organisation">;
}) {
  async function readProfile(user: UserName): Promise<ProfileRecord> {
    const [stored] = await store.read(spaceUserPartition(user), [readProfileRecord]);
    return parseProfileRecord(stored);
  }
  async function write(user: UserName, fields: readonly string[], update: string): Promise<void> {
    const { userId } = user;
    const partition = userIndexPartition(user.organisationId, userId);
    const profile = await readProfile(user);
    const values = fields.map(name => valueWrite(userId, name, profile));
    const done: Write = { type: "unscore", key: userBoards.updates, member: update };
    const results = await applyWrites(store, partition, [...values, done]);
    for (const [index, name] of fields.entries()) {
      const written = valueWrite(userId, name, profile);
      await followUser(store, partition, { shown: results[index], written }, async () =>
        valueWrite(userId, name, await readProfile(user)),
      );
    }
  }
  return {
    /**
     * Lists an update of custom fields that is about to begin, and returns the function that writes their values to the indexes
     * afterwards; null where the patch changes no indexed field. That function never rejects, as the profile has changed by then: an
     * update whose values are not written stays listed for `repair`.
     */
    async begin(user: UserName, patch: ProfilePatch["customFields"]): Promise<(() => Promise<void>) | null> {
      if (patch === undefined) return null;
      const declared = declaredIndexes(await directory.organisation(user.organisationId)).fields;
      const fields = patch === null ? declared : declared.filter(name => Object.hasOwn(patch, name));
      if (fields.length === 0) return null;
      const update = `${uuid(random)}${user.userId}`;
      await applyWrites(store, userIndexPartition(user.organisationId, user.userId), [
        { type: "score", op: "set", key: userBoards.updates, member: update, score: clock() },
      ]);
      return () => write(user, fields, update).catch(() => {});
    },
    async repair(organisationId: string, fields: readonly string[]): Promise<void> {
      const query = {
        type: "board",
        key: userBoards.updates,
        max: clock() - interruptedMs,
        limit: 100,
      } as const;
      const found = await Promise.all(
        userShardPartitions(organisationId).map(partition => store.read(partition, [query])),
      );
      for (const { member } of found.flatMap(([{ entries }]) => entries)) {
        await write({ organisationId, userId: member.slice(uuidLength) }, fields, member);
      }
    },
    /** Returns how the index of a field is built. */
    declared(organisationId: string, name: string): DeclaredIndex {
      return {
        organisationId,
        kind: "field",
        name,
        async scoreOf(userId) {
          const { customFields, version } = await readProfile({ organisationId, userId });
          const value = Object.hasOwn(customFields, name) ? customFields[name] : undefined;
          return value === undefined ? null : { score: fieldScore(value), asOf: version };
        },
      };
    },
  };
}

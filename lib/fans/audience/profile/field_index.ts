/**
 * The indexes of custom fields, which the settings of an organisation declare.
 *
 * An update is listed before the profile changes and taken off the list after the index was written, so that the update of a
 * process that dies in between is found and repaired. Values are written "as of" the version of the profile: late ones change
 * nothing. A value may be too many in an index, never too few once an update is done: the profile decides.
 *
 * @module
 */

import { uuid } from "../../../auth/crypto/mod.ts";
import type { Clock, RandomBytes } from "../../../auth/mod.ts";
import { Batcher, followRecord } from "../../../storage/background/mod.ts";
import { type Partition, type Score, type Store, storageLimits, type Write } from "../../../storage/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { spaceUserPartition } from "../../loyalty/user/state.ts";
import {
  buildIndex,
  type DeclaredIndex,
  declaredFields,
  fieldMark,
  textScore,
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

interface UserName {
  readonly organisationId: string;
  readonly userId: string;
}

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

type CommitResult = number | string | null;

async function commitAll(
  store: Store,
  partition: Partition,
  writes: readonly Write[],
): Promise<readonly CommitResult[]> {
  const commit = await store.commit(partition, { writes });
  return commit.ok ? commit.results : [];
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
  const commits = new Batcher<Write, CommitResult>({
    batchMax: storageLimits.writesMax,
    run: (partition, writes) => commitAll(store, partition, writes),
  });
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
    const results = await Promise.all([...values, done].map(one => commits.add(partition, one)));
    for (const [index, name] of fields.entries()) {
      const shown = results[index];
      if (typeof shown !== "number" || shown === values[index]?.score) continue;
      await followRecord<Score>({
        shown,
        read: async () => valueWrite(userId, name, await readProfile(user)),
        async overwrite(value) {
          const { key, member } = value;
          const [, score] = await commitAll(store, partition, [{ type: "unscore", key, member }, value]);
          return typeof score === "number" ? score : null;
        },
      });
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
      const organisation = await directory.organisation(user.organisationId);
      const declared = declaredFields(organisation?.settings ?? {});
      const fields = patch === null ? declared : declared.filter(name => Object.hasOwn(patch, name));
      if (fields.length === 0) return null;
      const update = `${uuid(random)}${user.userId}`;
      const entry = { type: "score", op: "set", key: userBoards.updates, member: update } as const;
      await commits.add(userIndexPartition(user.organisationId, user.userId), { ...entry, score: clock() });
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
      const marks = fieldMark(name);
      return {
        marks,
        build: () =>
          buildIndex(
            { store, clock },
            {
              organisationId,
              key: userBoards.field(name),
              mark: marks.built,
              async scoreOf(userId) {
                const { customFields, version } = await readProfile({ organisationId, userId });
                const value = Object.hasOwn(customFields, name) ? customFields[name] : undefined;
                return value === undefined ? null : { score: fieldScore(value), asOf: version };
              },
            },
          ),
      };
    },
  };
}

/** The records that identity keeps about users of projects, for copies of a person's data. */

import type { Store, UserRecord, UserRecordKind, UserRecords } from "../../storage/mod.ts";
import { type AuditEntry, entriesAbout, readUserTrail, userEntriesMax } from "./audit/audit.ts";
import type { Sessions } from "./sessions/sessions.ts";
import { findStoredUser, mergedUsers, mergeNote, type StoredUser } from "./users.ts";

/** The kind of record that names a user who was merged into another. */
export const mergedUserKind = "mergedUser";

const kinds: readonly UserRecordKind[] = [
  {
    name: "account",
    description: "The user of a project, with devices, logins and a ban. Credentials are named, not shown",
    stored: ["project/user user", "project/user name"],
    removal: "removed",
  },
  {
    name: "session",
    description: "A live session",
    stored: ["project/user session", "project/user sessions"],
    removal: "removed",
  },
  {
    name: "sessionEnd",
    description: "When all sessions of the user last ended together",
    stored: ["project/user cutoff"],
    removal: "expires",
    reason: "Access tokens from before are refused by it. It goes after the longest life of a session",
    leftOut: "The trail has the time",
  },
  {
    name: "trail",
    description: "The user's last 50 sign-ins and what operators did, newest first",
    stored: ["project/user audit"],
    removal: "removed",
  },
  {
    name: "projectTrail",
    description: "Entries about the user on the trail of the project",
    stored: ["project/audit audit"],
    removal: "stays",
    reason: "The trail shows what was done to whom. Newer entries replace the oldest of 65,536",
  },
  {
    name: "mergedInto",
    description: "The user whom a back end merged this one into",
    stored: ["project/merges into"],
    removal: "removed",
  },
  {
    name: mergedUserKind,
    description:
      "A user who was merged into this one. The document has its records too, and a removal removes them",
    stored: ["project/user merged"],
    removal: "removed",
  },
  {
    name: "signInKey",
    description: "What leads from an e-mail address, device, external id or identity to the user",
    stored: ["project/external user", "project/device user", "project/email user", "project/origin user"],
    removal: "removed",
    leftOut: "The account has the same values",
  },
  {
    name: "code",
    description: "A code that was mailed, as a hash",
    stored: ["project/code code"],
    removal: "removed",
    leftOut: "A secret, which ends after 10 minutes",
  },
  {
    name: "lastSeen",
    description: "When an anonymous user was last active",
    stored: ["project/anonymous seen"],
    removal: "expires",
    reason: "The removal of idle users drops it within 30 days",
    leftOut: "The account has the times of logins",
  },
  {
    name: "pendingWork",
    description: "A merge or removal of the user that is under way",
    stored: [
      "platform/merges due",
      "platform/merges lease",
      "platform/removals users",
      "platform/removals ended",
    ],
    removal: "expires",
    reason: "It ends a few minutes after the work does",
    leftOut: "Work of the platform itself",
  },
];

/** Creates the reader of the records of identity. */
export function identityRecords(services: {
  readonly store: Store;
  readonly sessions: Sessions;
}): UserRecords {
  return {
    kinds,
    async *read({ userId, projectIds }) {
      for (const projectId of projectIds) yield* recordsIn(services, projectId, userId);
    },
  };
}

async function* recordsIn(
  { store, sessions }: { readonly store: Store; readonly sessions: Sessions },
  projectId: string,
  userId: string,
): AsyncGenerator<UserRecord, void> {
  const user = await findStoredUser(store, projectId, userId);
  if (user !== null) yield { kind: "account", projectId, data: withoutSecrets(user) };
  for (const session of await sessions.list(projectId, userId)) {
    yield { kind: "session", projectId, data: session };
  }
  const isAnonymous = user?.provider === "anonymous";
  const { entries } = await readUserTrail(store, projectId, userId, { limit: userEntriesMax });
  for (const entry of entries) yield { kind: "trail", projectId, data: shownEntry(entry, isAnonymous) };
  for await (const entry of entriesAbout(store, projectId, userId)) {
    yield { kind: "projectTrail", projectId, data: shownEntry(entry, isAnonymous) };
  }
  const into = await mergeNote(store, projectId, userId);
  if (into !== null) yield { kind: "mergedInto", projectId, data: into };
  for (const merged of await mergedUsers(store, projectId, userId)) {
    yield { kind: mergedUserKind, projectId, data: merged };
  }
}

const notShown = "not shown";

/** Replaces what would let a reader of the copy sign in as the user. */
function withoutSecrets(user: StoredUser): unknown {
  const { account, registration, devices } = user;
  return {
    ...user,
    sealedId: notShown,
    ...(account === undefined ? {} : { account: { ...account, passwordHash: notShown } }),
    ...(registration === undefined ? {} : { registration: notShown }),
    ...(user.provider === "anonymous"
      ? { devices: devices.map(device => ({ ...device, deviceId: notShown })) }
      : {}),
  };
}

/** A device id registers its anonymous user again. */
function shownEntry({ deviceId, ...entry }: AuditEntry, isAnonymous: boolean): AuditEntry {
  const isCredential = isAnonymous || entry.provider === "anonymous";
  return deviceId === undefined ? entry : { ...entry, deviceId: isCredential ? notShown : deviceId };
}

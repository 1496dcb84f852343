/**
 * Commands about the keys that sign tokens, in the store of a deployment.
 *
 * @module
 */

import type { CommandSpec } from "./frame/command.ts";
import { record, rows } from "./frame/output.ts";
import { storeFlags } from "./store.ts";

const listSigningKeysCommand: CommandSpec = {
  words: ["signing-keys", "list"],
  summary: "List the keys that sign and verify tokens, in the order in which they sign",
  examples: ["signing-keys list --redis redis://127.0.0.1:6379"],
  output: rows({
    kid: ["KEY", "text"],
    algorithm: ["ALGORITHM", "text"],
    state: ["STATE", "text"],
    activeFrom: [null, "whole"],
    goneAt: [null, "whole?"],
  }),
  flags: storeFlags,
  usesProfile: false,
  async run({ flags }, { inKeyRing }) {
    const keys = await inKeyRing(flags, "signing-keys list", ring => ring.list());
    const rows = keys.map(({ kid, algorithm, state, activeFrom, goneAt }) => [
      kid,
      algorithm,
      state,
      isoTime(activeFrom),
      goneAt === null ? "" : isoTime(goneAt),
    ]);
    return {
      data: keys,
      shown: { columns: ["KEY", "ALGORITHM", "STATE", "SIGNS_FROM", "VERIFIES_UNTIL"], rows },
    };
  },
};

const rotateSigningKeysCommand: CommandSpec = {
  words: ["signing-keys", "rotate"],
  summary:
    "Publish a new signing key, which signs once every cache of the key set has it; servers may run on Redis",
  changes: "adds a key to the key set",
  examples: ["signing-keys rotate --redis redis://127.0.0.1:6379"],
  output: record({ kid: ["KEY", "text"], activeFrom: [null, "whole"] }),
  flags: storeFlags,
  usesProfile: false,
  async run({ flags }, { inKeyRing }) {
    const rotation = await inKeyRing(flags, "signing-keys rotate", ring => ring.rotate());
    const { kid, activeFrom } = rotation;
    return {
      data: rotation,
      notes: [`${kid} signs from ${isoTime(activeFrom)} on; the key before it goes on verifying`],
    };
  },
};

const revokeSigningKeyCommand: CommandSpec = {
  words: ["signing-keys", "revoke"],
  summary: "End a key that does not sign, with every token that it signed; servers may run on Redis",
  changes: "ends a key and the tokens that it signed",
  examples: ["signing-keys revoke $SIGNING_KEY --redis redis://127.0.0.1:6379"],
  output: record({ kid: ["KEY", "text"] }),
  args: [
    {
      name: "key",
      description: "The id of the key, as signing-keys list shows it; after -- if it begins with a dash",
    },
  ],
  flags: storeFlags,
  usesProfile: false,
  async run({ args: [kid = ""], flags }, { inKeyRing }) {
    await inKeyRing(flags, "signing-keys revoke", ring => ring.revoke(kid));
    const note = `${kid} is revoked; servers know within a minute, other verifiers once their copy of the key set ends (10 minutes)`;
    return { data: { kid }, notes: [note] };
  },
};

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export const signingKeysCommands: readonly CommandSpec[] = [
  listSigningKeysCommand,
  rotateSigningKeysCommand,
  revokeSigningKeyCommand,
];

/** Commands that work in the store of a deployment, without its servers. */

import type { CommandSpec, FlagSpec } from "./frame/command.ts";
import { exits, wrongUsage } from "./frame/errors.ts";
import { envFileFlag, yesFlag } from "./frame/flags.ts";
import type { StoreFlags } from "./frame/host.ts";
import { record, rows } from "./frame/output.ts";
import { isoTime } from "./frame/text.ts";

export const storeFlags: Readonly<Record<keyof StoreFlags, FlagSpec>> = {
  redis: { value: "urls", description: "The Redis of the deployment", variable: "GRANDSTAND_REDIS" },
  postgres: {
    value: "url",
    description: "The PostgreSQL of the deployment",
    variable: "GRANDSTAND_POSTGRES",
  },
  store: {
    value: "module",
    description: "The module of a store of your own",
    variable: "GRANDSTAND_STORE",
  },
  data: {
    value: "folder",
    description: "The folder of its data; its server must not run",
    variable: "GRANDSTAND_DATA",
  },
  "env-file": envFileFlag,
};

const applySeedCommand: CommandSpec = {
  words: ["seed", "apply"],
  summary:
    "Create or replace the records of a seed file, in the store; repeatable, and on Redis and PostgreSQL while servers run",
  changes: "creates or replaces the records that the file names",
  examples: ["seed apply seed.json --redis redis://127.0.0.1:6379"],
  output: record({
    organisations: "whole",
    spaces: "whole",
    projects: "whole",
    events: "whole",
    loyalty: "whole",
  }),
  args: [{ name: "file", description: "The JSON file, as GRANDSTAND_SEED names one" }],
  flags: storeFlags,
  usesProfile: false,
  async run({ args: [file = ""], flags }, { applySeed }) {
    const applied = await applySeed(flags, file);
    const { organisations, spaces, projects, events, loyalty } = applied;
    const note =
      `Wrote ${organisations} organisations, ${spaces} spaces, ${projects} projects, ${events} events and ` +
      `${loyalty} loyalty configurations`;
    return { data: applied, notes: [note] };
  },
};

const doctorCommand: CommandSpec = {
  words: ["doctor"],
  summary:
    "Check a deployment and what it has stored, and repair that; repeatable, and on Redis and PostgreSQL while servers run",
  changes: "writes and removes one file to try the storage; nothing else without --repair",
  examples: ["doctor --redis redis://127.0.0.1:6379", "doctor --data $DATA --repair"],
  output: rows({
    check: "text",
    status: ["VERDICT", "text"],
    seen: "text",
    advice: [null, "text?"],
    examined: [null, "whole?"],
    found: [null, "whole?"],
    repaired: [null, "whole?"],
    examples: [null, "texts"],
  }),
  exits: {
    [exits.differs]: "something in the store is found and not repaired",
    [exits.failed]: "a check failed",
  },
  flags: { ...storeFlags, repair: { description: "Repair what can be repaired" } },
  usesProfile: false,
  async run({ flags }, { doctor }) {
    const { findings, verdicts } = await doctor(flags, flags.repair !== undefined);
    const isSound = verdicts.every(({ status }) => status !== "found");
    const hasFailed = findings.some(({ status }) => status === "failed");
    return {
      data: [
        ...findings.map(finding => ({
          ...finding,
          examined: null,
          found: null,
          repaired: null,
          examples: [],
        })),
        ...verdicts.map(verdict => {
          const { examined, found, repaired } = verdict;
          const seen = `${examined} examined, ${found} found, ${repaired} repaired`;
          return { ...verdict, seen, advice: found > repaired ? verdict.advice : null };
        }),
      ],
      notes: [
        ...findings.flatMap(({ check, advice }) => (advice === null ? [] : [`${check}: ${advice}`])),
        ...verdicts.flatMap(({ check, examples }) => examples.map(example => `${check}: ${example}`)),
      ],
      exit: hasFailed ? exits.failed : isSound ? exits.ok : exits.differs,
    };
  },
};

const tokenBytesMax = 65_536;

const doctorTokenCommand: CommandSpec = {
  words: ["doctor", "token"],
  summary: "Say why a token is accepted or refused, of this deployment or of a project's OpenID provider",
  examples: ["doctor token token.txt --project $PROJECT --redis redis://127.0.0.1:6379"],
  output: rows({ check: "text", status: ["VERDICT", "text"], seen: "text", advice: [null, "text?"] }),
  exits: { [exits.failed]: "the token is refused" },
  args: [{ name: "file", description: "The file that has the token; - for standard input" }],
  flags: {
    ...storeFlags,
    project: { value: "id", description: "The project whose provider issued the token" },
  },
  usesProfile: false,
  async run({ args: [file = ""], flags }, { explainToken, files }) {
    const text = await files.readText(file, tokenBytesMax);
    if (text === null) throw wrongUsage(`There is no file ${file}`);
    const findings = await explainToken(flags, text.replace(/^\s*bearer\s/i, "").trim(), flags.project);
    return {
      data: findings,
      notes: findings.flatMap(({ check, advice }) => (advice === null ? [] : [`${check}: ${advice}`])),
      exit: findings.some(({ status }) => status === "failed") ? exits.failed : exits.ok,
    };
  },
};

const backupOutput = record({ file: "text", bytes: "whole", frames: "whole", digest: "text" });

const backupCommand: CommandSpec = {
  words: ["backup"],
  summary: "Copy the journal of a data folder to one file, also while its server runs",
  changes: "writes the file",
  examples: ["backup grandstand.backup --data $DATA"],
  output: backupOutput,
  exits: { [exits.conflict]: "the file exists" },
  args: [{ name: "file", description: "The file to write, readable by its owner only" }],
  flags: {
    ...storeFlags,
    data: { value: "folder", description: "The folder of its data", variable: "GRANDSTAND_DATA" },
  },
  usesProfile: false,
  async run({ args: [file = ""], flags }, { backUp }) {
    const made = await backUp(flags, file);
    return { data: { file, ...made }, notes: [`Verified and wrote ${made.frames} frames to ${file}.`] };
  },
};

const restoreCommand: CommandSpec = {
  words: ["restore"],
  summary: "Put a backup of a journal into an empty data folder",
  changes: "writes the journal of the folder; a backup that is cut or changed changes nothing",
  examples: ["restore grandstand.backup --data $DATA"],
  output: backupOutput,
  exits: {
    [exits.conflict]: "the folder is not empty",
    [exits.invalid]: "the file is no whole backup",
  },
  args: [{ name: "file", description: "The file that backup wrote" }],
  flags: storeFlags,
  usesProfile: false,
  async run({ args: [file = ""], flags }, { restore }) {
    const made = await restore(flags, file);
    return { data: { file, ...made }, notes: [`Verified and restored ${made.frames} frames of ${file}.`] };
  },
};

const rebuildCommand: CommandSpec = {
  words: ["leaderboards", "rebuild"],
  summary:
    "Recompute a board from stored user histories, in the store; repeatable, and on Redis and PostgreSQL while servers run",
  changes: "replaces the scores of the board",
  examples: [
    "leaderboards rebuild overall --project $PROJECT --redis redis://127.0.0.1:6379",
    "leaderboards rebuild overall --project $PROJECT --season $SEASON --data $DATA",
  ],
  output: record({ written: "whole", removed: "whole" }),
  args: [{ name: "board", description: "The id of the leaderboard" }],
  flags: {
    ...storeFlags,
    project: { value: "id", description: "The project of the board", required: true },
    event: { value: "id", description: "The event, for a board of an event" },
    season: { value: "id", description: "The season; otherwise the running one, else the last one" },
  },
  usesProfile: false,
  async run({ args: [leaderboardId = ""], flags }, { rebuildBoard }) {
    const { project = "", event = null, season } = flags;
    const board = { projectId: project, eventId: event, leaderboardId };
    const rebuilt = await rebuildBoard(flags, season === undefined ? board : { ...board, season });
    const { written, removed } = rebuilt;
    return { data: rebuilt, notes: [`Wrote ${written} entries and removed ${removed}`] };
  },
};

const indexUsersCommand: CommandSpec = {
  words: ["users", "index"],
  summary:
    "Add stored users whom the index of users lacks to it, in the store; repeatable, and on Redis and PostgreSQL while servers run",
  changes: "adds users to the index",
  examples: ["users index --redis redis://127.0.0.1:6379"],
  output: record({ examined: "whole", listed: "whole", metrics: "whole" }),
  flags: storeFlags,
  usesProfile: false,
  async run({ flags }, { indexUsers, progress }) {
    const done = await indexUsers(flags, reached =>
      progress(`Examined ${reached.examined} records, listed ${reached.listed} users`),
    );
    const { examined, listed, metrics } = done;
    const note = `Examined ${examined} records, listed ${listed} users and built ${metrics} indexes of metrics.`;
    return { data: done, notes: [note] };
  },
};

const migrateCommand: CommandSpec = {
  words: ["migrate"],
  summary: "Create the schema of PostgreSQL, or bring it up to date; repeatable, and while servers run",
  changes: "creates or alters tables and functions of the schema",
  examples: ["migrate --postgres postgres://owner@127.0.0.1/grandstand"],
  output: record({ schema: "text", from: "whole", version: "whole" }),
  flags: storeFlags,
  usesProfile: false,
  async run({ flags }, { migrate }) {
    const made = await migrate(flags);
    const { schema, from, version } = made;
    const note =
      from === version
        ? `The schema ${schema} has version ${version} already.`
        : `The schema ${schema} has version ${version} now; before ${from === 0 ? "there was none" : `it had ${from}`}.`;
    return { data: made, notes: [note] };
  },
};

const rotateSecretCommand: CommandSpec = {
  words: ["secret", "rotate"],
  isOurs: true,
  summary:
    "Seal what is stored anew under the first master secret of GRANDSTAND_SECRET, in the store, so that you can drop the others; repeatable, as what is sealed already stays, and on Redis and PostgreSQL while servers run",
  changes: "seals signing keys, external ids of users and keys to authors anew",
  examples: ["secret rotate --redis redis://127.0.0.1:6379"],
  output: record({ records: "whole" }),
  flags: storeFlags,
  usesProfile: false,
  async run({ flags }, { sealAnew, progress }) {
    const records = await sealAnew(flags, count => progress(`Sealed ${count} records`));
    return {
      data: { records },
      notes: [
        `Went through ${records} records: all are sealed under the first secret.`,
        "API keys and access tokens follow when they are next used: those that are not used before you drop the other secrets end then.",
      ],
    };
  },
};

const bootstrapOperatorCommand: CommandSpec = {
  words: ["operators", "bootstrap"],
  summary:
    "Make a person an operator with an access token, and the first organisation and space, in the store; GRANDSTAND_SECRET is that of the server",
  changes:
    "makes an operator with a token in the store, and where there is none an organisation with a space",
  examples: [
    "operators bootstrap --redis redis://127.0.0.1:6379 --email sam@example.com",
    "operators bootstrap --data $DATA --email sam@example.com --name Club",
  ],
  output: record({
    token: [null, "text"],
    userId: ["USER", "text"],
    organisationId: ["ORGANISATION", "text?"],
    spaceId: ["SPACE", "text?"],
  }),
  flags: {
    ...storeFlags,
    email: { value: "address", description: "E-mail address of the person", required: true },
    name: { value: "text", description: "Name of the organisation and the space; otherwise First" },
  },
  usesProfile: false,
  async run({ flags }, { bootstrapOperator }) {
    const { email = "", name = "First" } = flags;
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw wrongUsage("--email must be an e-mail address");
    const { issuer, ...made } = await bootstrapOperator(flags, { email, name });
    const where =
      made.organisationId === null
        ? "The store has organisations already, so none was made"
        : `The organisation is ${made.organisationId}, its space ${made.spaceId}`;
    const isUrn = issuer.startsWith("urn:");
    const hint = isUrn
      ? ": set GRANDSTAND_PUBLIC_URL before the first command to have your address there"
      : "";
    return {
      data: made,
      shown: `GRANDSTAND_TOKEN=${made.token}\n`,
      notes: [
        where,
        `Tokens of fans name the issuer ${issuer}${hint}`,
        "The token is shown only once: store it where only its owner can read it",
      ],
    };
  },
};

const listSigningKeysCommand: CommandSpec = {
  words: ["signing-keys", "list"],
  summary: "List the keys that sign and verify tokens, in the order in which they sign",
  examples: ["signing-keys list --redis redis://127.0.0.1:6379"],
  output: rows({
    kid: ["KEY", "text"],
    algorithm: "text",
    state: "text",
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
      isoTime(activeFrom / 1_000),
      isoTime(goneAt && goneAt / 1_000) ?? "",
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
    "Publish a new signing key, which signs once every cache of the key set has it; servers on Redis or PostgreSQL may run",
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
      notes: [`${kid} signs from ${isoTime(activeFrom / 1_000)} on; the key before it goes on verifying`],
    };
  },
};

const revokeSigningKeyCommand: CommandSpec = {
  words: ["signing-keys", "revoke"],
  summary:
    "End a key that does not sign, with every token that it signed; servers on Redis or PostgreSQL may run",
  changes: "ends a key and the tokens that it signed",
  examples: ["signing-keys revoke $SIGNING_KEY --redis redis://127.0.0.1:6379 --yes"],
  output: record({ kid: ["KEY", "text"] }),
  args: [
    {
      name: "key",
      description: "The id of the key, as signing-keys list shows it; after -- if it begins with a dash",
    },
  ],
  flags: { ...storeFlags, yes: yesFlag },
  usesProfile: false,
  async run({ args: [kid = ""], flags }, { confirm, inKeyRing }) {
    await confirm(`End the key ${kid} and all tokens that it signed`);
    await inKeyRing(flags, "signing-keys revoke", ring => ring.revoke(kid));
    const note = `${kid} is revoked; servers know within a minute, other verifiers once their copy of the key set ends (10 minutes)`;
    return { data: { kid }, notes: [note] };
  },
};

export const commands: readonly CommandSpec[] = [
  applySeedCommand,
  doctorCommand,
  doctorTokenCommand,
  backupCommand,
  restoreCommand,
  rebuildCommand,
  indexUsersCommand,
  migrateCommand,
  rotateSecretCommand,
  bootstrapOperatorCommand,
  listSigningKeysCommand,
  rotateSigningKeysCommand,
  revokeSigningKeyCommand,
];

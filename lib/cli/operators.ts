/** Commands about the people who run a platform. */

import type { CommandSpec } from "./frame/command.ts";
import { wrongUsage } from "./frame/errors.ts";
import { record } from "./frame/output.ts";
import { storeFlags } from "./store.ts";

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

export const operatorsCommands: readonly CommandSpec[] = [bootstrapOperatorCommand];

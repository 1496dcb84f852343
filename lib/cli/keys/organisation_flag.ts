import type { FlagSpec } from "../command.ts";

/** Names the organisation that a command is about. */
export const organisationFlag: FlagSpec = {
  value: "id",
  description: "The organisation",
  variable: "GRANDSTAND_ORGANISATION",
  required: true,
};

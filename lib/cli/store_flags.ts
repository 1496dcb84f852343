import type { FlagSpec } from "./command.ts";

/** Flags of commands that work in the store of a deployment itself. */
export const storeFlags: Readonly<Record<"redis" | "data", FlagSpec>> = {
  redis: { value: "urls", description: "The Redis of the deployment", variable: "GRANDSTAND_REDIS" },
  data: {
    value: "folder",
    description: "The folder of its data; its server must not run",
    variable: "GRANDSTAND_DATA",
  },
};

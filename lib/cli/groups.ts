import type { CommandGroup } from "./frame/command.ts";

/** Every group of commands, in the order in which the help lists them. */
export const groups: readonly CommandGroup[] = [
  { word: "orgs", isOurs: false, load: async () => (await import("./orgs.ts")).orgsCommands },
  { word: "spaces", isOurs: false, load: async () => (await import("./orgs.ts")).spacesCommands },
  { word: "projects", isOurs: false, load: async () => [(await import("./projects.ts")).clientTokenCommand] },
  { word: "export", isOurs: false, load: async () => [(await import("./exports.ts")).decryptCommand] },
  { word: "scope", isOurs: false, load: async () => (await import("./scope.ts")).scopeCommands },
  { word: "login", isOurs: true, load: async () => (await import("./login.ts")).loginCommands },
  { word: "logout", isOurs: true, load: async () => (await import("./login.ts")).logoutCommands },
  { word: "whoami", isOurs: true, load: async () => (await import("./login.ts")).whoamiCommands },
  { word: "config", isOurs: true, load: async () => (await import("./config.ts")).configCommands },
  {
    word: "completion",
    isOurs: true,
    load: async () => (await import("./help_command.ts")).completionCommands,
  },
  { word: "help", isOurs: true, load: async () => (await import("./help_command.ts")).helpCommands },
  { word: "tags", isOurs: true, load: async () => (await import("./members.ts")).tagsCommands },
  { word: "members", isOurs: true, load: async () => (await import("./members.ts")).membersCommands },
  { word: "tokens", isOurs: true, load: async () => (await import("./members.ts")).tokensCommands },
  { word: "operators", isOurs: true, load: async () => (await import("./operators.ts")).operatorsCommands },
  { word: "keys", isOurs: true, load: async () => (await import("./keys.ts")).keysCommands },
  {
    word: "signing-keys",
    isOurs: true,
    load: async () => (await import("./signing_keys.ts")).signingKeysCommands,
  },
  { word: "loyalty", isOurs: true, load: async () => (await import("./loyalty/mod.ts")).loyaltyCommands },
  { word: "leaderboards", isOurs: true, load: async () => [(await import("./store.ts")).rebuildCommand] },
  { word: "users", isOurs: true, load: async () => [(await import("./store.ts")).indexUsersCommand] },
  { word: "webhooks", isOurs: true, load: async () => (await import("./webhooks.ts")).webhooksCommands },
  { word: "actions", isOurs: true, load: async () => [(await import("./actions.ts")).deadLettersCommand] },
  { word: "exports", isOurs: true, load: async () => (await import("./exports.ts")).exportsCommands },
  { word: "seed", isOurs: true, load: async () => [(await import("./store.ts")).applySeedCommand] },
  { word: "doctor", isOurs: true, load: async () => [(await import("./store.ts")).doctorCommand] },
];

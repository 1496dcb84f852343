import type { CommandGroup } from "./frame/command.ts";

type Loaders = Readonly<Record<string, CommandGroup["load"]>>;

const ofInterface: Loaders = {
  orgs: async () => (await import("./orgs.ts")).orgsCommands,
  spaces: async () => (await import("./orgs.ts")).spacesCommands,
  apps: async () => (await import("./apps.ts")).appsCommands,
  projects: async () => (await import("./projects/projects.ts")).projectsCommands,
  events: async () => (await import("./events/events.ts")).eventsCommands,
  elements: async () => (await import("./elements/elements.ts")).elementsCommands,
  url: async () => (await import("./url.ts")).urlCommands,
  smoke: async () => (await import("./events/smoke.ts")).smokeCommands,
  plan: async () => (await import("./manifest.ts")).planCommands,
  apply: async () => (await import("./manifest.ts")).applyCommands,
  export: async () => [
    ...(await import("./manifest.ts")).exportCommands,
    (await import("./exports.ts")).decryptCommand,
  ],
  annotations: async () => (await import("./annotations.ts")).annotationsCommands,
  context: async () => (await import("./annotations.ts")).contextCommands,
  assets: async () => (await import("./assets/assets.ts")).assetsCommands,
  scope: async () => (await import("./scope.ts")).scopeCommands,
  forms: async () => (await import("./url.ts")).formsCommands,
};
const ours: Loaders = {
  login: async () => (await import("./login.ts")).loginCommands,
  logout: async () => (await import("./login.ts")).logoutCommands,
  whoami: async () => (await import("./login.ts")).whoamiCommands,
  config: async () => (await import("./config.ts")).configCommands,
  completion: async () => (await import("./help_command.ts")).completionCommands,
  help: async () => (await import("./help_command.ts")).helpCommands,
  tags: async () => (await import("./members.ts")).tagsCommands,
  members: async () => (await import("./members.ts")).membersCommands,
  tokens: async () => (await import("./members.ts")).tokensCommands,
  operators: async () => (await import("./operators.ts")).operatorsCommands,
  keys: async () => (await import("./keys.ts")).keysCommands,
  "signing-keys": async () => (await import("./signing_keys.ts")).signingKeysCommands,
  loyalty: async () => (await import("./loyalty/mod.ts")).loyaltyCommands,
  leaderboards: async () => [(await import("./store.ts")).rebuildCommand],
  users: async () => (await import("./users.ts")).usersCommands,
  webhooks: async () => (await import("./webhooks.ts")).webhooksCommands,
  actions: async () => (await import("./actions.ts")).actionsCommands,
  exports: async () => (await import("./exports.ts")).exportsCommands,
  workflow: async () => (await import("./workflow/mod.ts")).workflowCommands,
  seed: async () => [(await import("./store.ts")).applySeedCommand],
  doctor: async () => {
    const { doctorCommand, doctorTokenCommand } = await import("./store.ts");
    return [doctorCommand, doctorTokenCommand];
  },
  backup: async () => [(await import("./store.ts")).backupCommand],
  restore: async () => [(await import("./store.ts")).restoreCommand],
};

/** Every group of commands, in the order in which the help lists them. */
export const groups: readonly CommandGroup[] = [ofInterface, ours].flatMap(loaders =>
  Object.entries(loaders).map(([word, load]) => ({ word, isOurs: loaders === ours, load })),
);

import type { CommandGroup, CommandSpec } from "./frame/command.ts";

/** Files of commands by the first word of those that they are loaded for. */
type Files = Readonly<
  Record<string, readonly (() => Promise<{ readonly commands: readonly CommandSpec[] }>)[]>
>;

const ofInterface: Files = {
  orgs: [() => import("./orgs.ts")],
  spaces: [() => import("./orgs.ts")],
  apps: [() => import("./apps.ts")],
  projects: [() => import("./projects/projects.ts")],
  events: [() => import("./events/events.ts")],
  elements: [() => import("./elements/elements.ts")],
  url: [() => import("./url.ts")],
  smoke: [() => import("./events/smoke.ts")],
  plan: [() => import("./manifest.ts")],
  apply: [() => import("./manifest.ts")],
  export: [() => import("./manifest.ts"), () => import("./exports.ts")],
  annotations: [() => import("./annotations.ts")],
  context: [() => import("./annotations.ts")],
  assets: [() => import("./assets/assets.ts")],
  scope: [() => import("./scope.ts")],
  forms: [() => import("./url.ts")],
};
const ours: Files = {
  login: [() => import("./login.ts")],
  logout: [() => import("./login.ts")],
  whoami: [() => import("./login.ts")],
  config: [() => import("./config.ts")],
  completion: [() => import("./help_command.ts")],
  help: [() => import("./help_command.ts")],
  tags: [() => import("./members.ts")],
  members: [() => import("./members.ts")],
  tokens: [() => import("./members.ts")],
  operators: [() => import("./store.ts")],
  keys: [() => import("./keys.ts")],
  "signing-keys": [() => import("./store.ts")],
  loyalty: [() => import("./loyalty/mod.ts")],
  leaderboards: [() => import("./store.ts")],
  users: [() => import("./users.ts"), () => import("./store.ts")],
  mails: [() => import("./mails.ts")],
  webhooks: [() => import("./webhooks.ts")],
  actions: [() => import("./dead_letters.ts")],
  exports: [() => import("./exports.ts")],
  workflow: [() => import("./workflow/mod.ts")],
  secret: [() => import("./store.ts")],
  seed: [() => import("./store.ts")],
  doctor: [() => import("./store.ts")],
  backup: [() => import("./store.ts")],
  restore: [() => import("./store.ts")],
  migrate: [() => import("./store.ts")],
};

/** Every group of commands, in the order in which the help lists them. */
export const groups: readonly CommandGroup[] = [ofInterface, ours].flatMap(all =>
  Object.entries(all).map(([word, files]) => ({
    word,
    isOurs: all === ours,
    async load() {
      const loaded = await Promise.all(files.map(load => load()));
      return loaded.flatMap(({ commands }) => commands).filter(({ words }) => words[0] === word);
    },
  })),
);

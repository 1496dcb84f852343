/** The views of each scope. Where an address names none, the first one. */

import type { ScopeType } from "./api.ts";
import { mounted } from "./ui.tsx";
import type { ViewEntry } from "./view.ts";

const boards: ViewEntry = {
  title: "Boards",
  load: () => import("./board.ts").then(part => mounted(part.showBoards)),
};
const workflows: ViewEntry = {
  title: "Workflows",
  load: () => import("./workflows.tsx").then(part => part.Workflows),
};
const settings: ViewEntry = {
  title: "Settings",
  load: () => import("./settings.tsx").then(part => part.SettingsView),
};
const below = (title: string): ViewEntry => ({
  title,
  load: () => import("./scopes.tsx").then(part => part.ScopesBelow),
});

type Views = Readonly<Record<string, ViewEntry>>;

export const views: Readonly<Record<ScopeType | "platform", Views>> = {
  platform: {
    organisations: below("Organisations"),
    operations: {
      title: "Operations",
      load: () => import("./operations.ts").then(part => mounted(part.showOperations)),
    },
  },
  organisations: { spaces: below("Spaces"), workflows },
  spaces: { projects: below("Projects"), workflows },
  projects: { events: below("Events"), settings, boards, workflows },
  events: {
    run: { title: "Run", load: () => import("./run/run.tsx").then(part => part.Run) },
    boards,
    settings,
    workflows,
  },
};

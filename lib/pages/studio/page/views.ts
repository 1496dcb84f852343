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
const loyalty: ViewEntry = {
  title: "Loyalty",
  role: "admin",
  load: () => import("./loyalty/loyalty.tsx").then(part => part.LoyaltyView),
};
const assets: ViewEntry = {
  title: "Assets",
  load: () => import("./assets.tsx").then(part => part.AssetsView),
};
const templates: ViewEntry = {
  title: "Templates",
  load: () => import("./templates.tsx").then(part => part.TemplatesView),
};
const page: ViewEntry = {
  title: "Page",
  role: "admin",
  load: () => import("./fans_page.tsx").then(part => part.FansPage),
};
const below = (title: string): ViewEntry => ({
  title,
  load: () => import("./scopes.tsx").then(part => part.ScopesBelow),
});

const peopleBelow: ViewEntry = {
  title: "People",
  load: () => import("./scopes.tsx").then(part => part.PeopleBelow),
};
const people: ViewEntry = {
  title: "People",
  load: () => import("./people/people.tsx").then(part => part.People),
};
const roles: ViewEntry = {
  title: "Roles",
  role: "admin",
  load: () => import("./roles.tsx").then(part => part.Roles),
};
const activity: ViewEntry = {
  title: "Activity",
  role: "admin",
  load: () => import("./activity.tsx").then(part => part.Activity),
};

type Views = Readonly<Record<string, ViewEntry>>;

export const views: Readonly<Record<ScopeType | "platform", Views>> = {
  platform: {
    organisations: below("Organisations"),
    operations: {
      title: "Operations",
      load: () => import("./operations.ts").then(part => mounted(part.showOperations)),
    },
  },
  organisations: { spaces: below("Spaces"), people: peopleBelow, roles, activity, workflows },
  spaces: { projects: below("Projects"), people: peopleBelow, loyalty, roles, activity, workflows },
  projects: {
    events: { title: "Events", load: () => import("./plan/events.tsx").then(part => part.Events) },
    week: { title: "Week", load: () => import("./plan/week.tsx").then(part => part.WeekOfEvents) },
    assets,
    templates,
    page,
    settings,
    people,
    boards,
    roles,
    activity,
    workflows,
  },
  events: {
    run: { title: "Run", load: () => import("./run/run.tsx").then(part => part.Run) },
    plan: { title: "Plan", load: () => import("./plan/plan.tsx").then(part => part.Plan) },
    analytics: {
      title: "Analytics",
      load: () => import("./analytics.tsx").then(part => part.Analytics),
    },
    boards,
    settings,
    workflows,
  },
};

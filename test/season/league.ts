/** The configuration of the league: one project, an event for each matchday, and rules that give points. */

import type { NewApiKey } from "../../lib/auth/api_keys/api_keys.ts";
import type { Seed } from "../../lib/fans/directory/mod.ts";
import type { Match } from "./fixtures.ts";
import { pointsOf } from "./predictions.ts";

/** Ids of the league's records. */
export const leagueIds = {
  organisation: "1a000000-0000-4000-8000-000000000001",
  space: "1b000000-0000-4000-8000-000000000001",
  project: "1c000000-0000-4000-8000-000000000001",
} as const;

/** Options of the API key of the league's back end. */
export const backEndKey: NewApiKey = {
  organisationId: leagueIds.organisation,
  name: "Results service",
  permissions: ["actions:write"],
};

/** The id of a matchday's event. */
export function eventId(matchday: number): string {
  return `1d000000-0000-4000-8000-${String(matchday).padStart(12, "0")}`;
}

/** The board of the whole season, as a path. */
export const overallPath: string = `/projects/${leagueIds.project}/leaderboards/overall`;

/** The board of a matchday, as a path. */
export function roundPath(matchday: number): string {
  return `/projects/${leagueIds.project}/events/${eventId(matchday)}/leaderboards/round_${matchday}`;
}

const source = { type: "metric", metricId: "points" };

/** The directory of a league with these matches. */
export function leagueSeed(matches: readonly Match[]): Seed {
  const { organisation, space, project } = leagueIds;
  const matchdays = [...new Set(matches.map(({ matchday }) => matchday))];
  return {
    organisations: [{ id: organisation, name: "League" }],
    spaces: [{ id: space, organisationId: organisation, name: "Fans of the league" }],
    projects: [
      {
        id: project,
        spaceId: space,
        organisationId: organisation,
        name: "Predictions",
        settings: { leaderboards: [{ id: "overall", source }] },
      },
    ],
    events: matchdays.map(matchday => ({
      id: eventId(matchday),
      projectId: project,
      name: `Matchday ${matchday}`,
      state: "past",
      startAt:
        Math.min(...matches.filter(match => match.matchday === matchday).map(({ kickOff }) => kickOff)) /
        1_000,
      settings: { leaderboards: [{ id: `round_${matchday}`, source }] },
    })),
    loyalty: { [space]: loyalty },
  };
}

const loyalty = {
  metrics: [{ id: "points", title: "Points" }],
  actions: [{ name: "prediction", clientReportable: true }],
  rules: [rule("exact"), rule("right")],
};

function rule(outcome: "exact" | "right"): unknown {
  return {
    id: outcome,
    trigger: { action: "prediction" },
    when: { eq: [{ var: "data.outcome" }, outcome] },
    effects: [{ type: "metric", metricId: "points", metricQuantity: pointsOf[outcome] }],
  };
}

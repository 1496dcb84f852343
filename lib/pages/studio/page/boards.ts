/** The boards of a project and of an event, as their settings declare them. */

import { isMembers, type Members } from "../../../base/json/mod.ts";
import type { Resource, ScopeType } from "./api.ts";
import type { ViewContext } from "./view.ts";

/** Settings of a board, as far as they say which seasons it has. */
export interface BoardSettings {
  readonly id: string;
  readonly visibility?: string;
  readonly seasons?: { readonly type?: string; readonly list?: readonly ListedSeason[] } | "none";
  readonly keepSeasons?: number;
}

interface ListedSeason {
  readonly id: string;
  readonly startsAt: string | number;
}

interface Boards {
  readonly ofProject: readonly BoardSettings[];
  /** Empty where the place is no event. */
  readonly ofEvent: readonly BoardSettings[];
  /** Ids of those that the page for fans has, as elements name them: `event:` comes before those of the event. */
  readonly ofPage: readonly string[];
}

/** Reads the boards of the project and event of a place that are not hidden. */
export async function readBoards({
  api,
  chain,
  signal,
}: Pick<ViewContext, "api" | "chain" | "signal">): Promise<Boards> {
  const servicesOf = async (type: ScopeType): Promise<Members> => {
    const scope: Resource | undefined = chain.find(each => each.type === type);
    if (scope === undefined) return {};
    const { data } = await api.scope(type, scope.id, { [`fields[${type}]`]: "services" }, signal);
    return Object(data.attributes.services) as Members;
  };
  const [own, event] = await Promise.all([servicesOf("projects"), servicesOf("events")]);
  const hasEvent = chain.some(({ type }) => type === "events");
  const declared = hasEvent
    ? [...shownIn(event.leaderboards), ...shownIn(own.eventLeaderboards), { id: "overall" }]
    : [];
  const ofEvent = [...new Map(declared.toReversed().map(each => [each.id, each])).values()].toReversed();
  const chosen = isMembers(own.show) ? own.show.boards : undefined;
  const ofPage = shownIn(own.leaderboards).flatMap(({ id }) =>
    Array.isArray(chosen) && !chosen.includes(id) ? [] : [id],
  );
  return {
    ofProject: shownIn(own.leaderboards, "overall"),
    ofEvent,
    ofPage: [...ofPage, ...ofEvent.map(({ id }) => `event:${id}`)],
  };
}

/** Lists the boards of a section of settings that are not hidden; the fallback where the section is missing. */
export function shownIn(section: unknown, ...fallback: readonly string[]): readonly BoardSettings[] {
  if (!Array.isArray(section)) return fallback.map(id => ({ id }));
  return (section as readonly BoardSettings[]).filter(({ visibility }) => visibility !== "hidden");
}

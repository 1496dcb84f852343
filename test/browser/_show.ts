/** The show of a test platform: events, their elements, and the pages of fans. */

import type { BrowserContextOptions } from "playwright-core";
import { systemTimer } from "../../lib/http/requests/body.ts";
import type { PlatformOptions } from "../../lib/mod.ts";
import { createShow } from "../../lib/pages/show/mod.ts";
import { buildShow } from "../../runtime/services/pages.ts";
import { ids, loyalty, seed } from "../support/platform.ts";
import { type OpenedPage, openPage, openStudioWorld, type StudioWorld } from "./_studio.ts";

let built: ReturnType<typeof buildShow> | undefined;

/** Time after which every cache of the platform is read again, in ms. */
export const pastCachesMs = 2_000;

/** What an element has beside its type. */
type Attributes = Readonly<Record<string, unknown>>;

export interface ShowWorld extends StudioWorld {
  /** A running event. */
  readonly event: string;
  /** Adds an element to the event and publishes it unless the attributes say otherwise. */
  publish(contentType: string, attributes: Attributes): Promise<string>;
  /** Changes an element. */
  change(id: string, attributes: Attributes): Promise<void>;
  /** Opens the page of a fan on a phone. */
  visit(query?: string, options?: BrowserContextOptions): Promise<OpenedPage>;
}

const voteRule = {
  id: "voted",
  trigger: { action: "vote" },
  effects: [{ type: "metric", metricId: "points", metricQuantity: 5 }],
};

/** A field in every language. */
export const field = (key: string, all: unknown, more: Attributes = {}) => ({
  key,
  values: { all, ...more },
});

/** A question with its options. */
export const question = (text: string, ...options: readonly string[]) => ({
  question: {
    fields: [field("question", text)],
    options: options.map(each => ({ fields: [field("text", each)] })),
  },
});

/** Opens a platform with the show, and a running event. */
export async function openShowWorld({
  settings = {},
  ...options
}: Partial<PlatformOptions> & { readonly settings?: Attributes } = {}): Promise<ShowWorld> {
  built ??= buildShow();
  const files = await built;
  const [project, ...others] = seed.projects ?? [];
  const document = {
    ...seed,
    projects: [{ ...project, settings: { ...project?.settings, ...settings } }, ...others] as never,
    loyalty: {
      [ids.space]: {
        ...loyalty,
        actions: [...loyalty.actions, { name: "vote", clientReportable: true }],
        rules: [...loyalty.rules, voteRule],
      },
    },
  };
  const world = await openStudioWorld({
    show: createShow({ files: async () => files }),
    seed: document,
    timer: systemTimer,
    ...options,
  } as Partial<PlatformOptions>);
  const to = (type: string, id: string) => ({ data: { type, id } });
  const { json } = await world.author("POST", "/events", {
    type: "events",
    attributes: { name: "Final", action: "start" },
    relationships: { project: to("projects", ids.project) },
  });
  const event: string = json.data.id;
  return {
    ...world,
    event,
    async publish(contentType, attributes) {
      const created = await world.author("POST", "/elements", {
        type: "elements",
        attributes: { content_type: contentType, action: "publish", ...attributes },
        relationships: { event: to("events", event) },
      });
      if (created.status !== 201) throw new Error(created.text);
      world.clock.advance(pastCachesMs);
      return created.json.data.id;
    },
    async change(id, attributes) {
      const { status, text } = await world.author("PATCH", `/elements/${id}`, {
        type: "elements",
        id,
        attributes,
      });
      if (status >= 300) throw new Error(text);
      world.clock.advance(pastCachesMs);
    },
    visit: (query = `?event=${event}`, options = {}) =>
      openPage(world.url, { path: `/show${query}`, viewport: { width: 360, height: 740 }, ...options }),
  };
}

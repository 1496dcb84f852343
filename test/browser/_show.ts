/** The show of a test platform: events, their elements, and the pages of fans. */

import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import type { PlatformOptions } from "../../lib/mod.ts";
import { createShow } from "../../lib/pages/show/mod.ts";
import { systemTimer } from "../../lib/storage/background/mod.ts";
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
  publish(contentType: string, attributes: Attributes, relationships?: Attributes): Promise<string>;
  /** Changes an element. */
  change(id: string, attributes: Attributes): Promise<void>;
  /** Opens the page of a fan on a phone. */
  visit(query?: string, options?: BrowserContextOptions): Promise<OpenedPage>;
}

const paid = (metricQuantity: unknown) => [{ type: "metric", metricId: "points", metricQuantity }];
const rules = [
  { id: "voted", trigger: { action: "vote" }, effects: paid(5) },
  {
    id: "right-answer",
    trigger: { action: "vote" },
    when: { eq: [{ var: "element.isRight" }, true] },
    effects: paid({ var: "element.points" }),
  },
  { id: "collected", trigger: { action: "collect" }, effects: paid(50) },
];
const milestones = [
  {
    id: "level",
    title: "Level",
    metricId: "points",
    measure: "balance",
    isTier: true,
    milestones: [
      {
        id: "silver",
        title: "Silver",
        threshold: 50,
        notification: { display: "toast", title: "Silver!", message: "You climb." },
      },
      {
        id: "gold",
        title: "Gold",
        threshold: 55,
        notification: { display: "modal", title: "Gold!", message: "Higher than most." },
      },
    ],
  },
];
const actions = ["vote", "ask", "collect"].map(name => ({ name, clientReportable: true }));

/** Five days after the clock of the platform begins, in Unix seconds. */
const challengeEnd = 1_750_000_000 + 5 * 86_400;

/** A product for each reason for which a shop refuses what it lists, the first one once a fan has it. */
const products = [
  { id: "scarf", title: "A scarf", limits: { perUser: 1 } },
  { id: "ticket", title: "A ticket", when: { eq: [1, 2] } },
  { id: "cap", title: "The last cap", stock: { type: "limited", quantity: 1 } },
  { id: "snack", title: "A snack", fulfilment: { type: "coupon", couponId: "snack" } },
  { id: "car", title: "A car", prices: [{ currency: "points", amount: 1_000_000 }] },
].map(each => ({
  prices: [{ currency: "points", amount: 1 }],
  fulfilment: { type: "manual" },
  ...each,
}));

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

/** Waits for what follows from figures, which are written a moment after the actions they count. */
export async function waitForFigure({ clock }: ShowWorld, shown: Locator): Promise<void> {
  for (let tries = 30; ; tries--) {
    clock.advance(pastCachesMs);
    try {
      return await shown.waitFor({ timeout: 2_000 });
    } catch (error) {
      if (tries === 0) throw error;
    }
  }
}

/** Hides a page as another tab would, or shows it again. */
export async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

/** Pictures a page into the folder that `PICTURES` names, for somebody to look at. */
export async function picture(page: Page, name: string): Promise<void> {
  const { PICTURES: folder } = process.env;
  if (folder !== undefined) await page.screenshot({ path: `${folder}/E1-${name}.png` });
}

/** Opens a platform with the show, and a running event. */
export async function openShowWorld({
  settings = {},
  ...options
}: Parameters<typeof openStudioWorld>[0] & { readonly settings?: Attributes } = {}): Promise<ShowWorld> {
  built ??= buildShow();
  const files = await built;
  const [project, ...others] = seed.projects ?? [];
  const document = {
    ...seed,
    projects: [{ ...project, settings: { ...project?.settings, ...settings } }, ...others] as never,
    loyalty: {
      [ids.space]: {
        ...loyalty,
        coupons: [
          ...loyalty.coupons,
          { id: "snack", title: "Snack at the bar", type: "shared", code: "NUTS" },
        ],
        challenges: loyalty.challenges.map(each => ({ ...each, time: { from: 0, to: challengeEnd } })),
        actions: [...loyalty.actions, ...actions],
        rules: [...loyalty.rules, ...rules],
        products: [...loyalty.products, ...products],
        milestones,
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
    async publish(contentType, attributes, relationships = {}) {
      const created = await world.author("POST", "/elements", {
        type: "elements",
        attributes: { content_type: contentType, action: "publish", ...attributes },
        relationships: { event: to("events", event), ...relationships },
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

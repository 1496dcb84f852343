/**
 * The show of the demo: ten minutes that run by themselves and begin again, with a handful of fans who take part. It calls the platform as
 * any back end and any fan does.
 */

import {
  accessToken,
  type BodyOf,
  type Client,
  control,
  createClient,
  createFanClient,
  type FanClient,
  GrandstandError,
  loyalty,
  memoryStorage,
} from "../../lib/client/mod.ts";
import type { DemoIds, Platform } from "../../lib/mod.ts";
import { demoShowEnd } from "../../lib/platform/demo.ts";
import type { Store } from "../../lib/storage/mod.ts";

interface Scene {
  /** Seconds between the begin of the show and its publication. */
  readonly at: number;
  readonly attributes: Readonly<Record<string, unknown>> & { readonly custom_fields: readonly Field[] };
}

interface Field {
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}

const all = (key: string, value: unknown): Field => ({ key, values: { all: value } });
/** A value in the languages of the demo: English for all, and German. */
const inBoth = <T>(english: T, german: T) => ({ all: english, de: german });
type InBoth<T> = ReturnType<typeof inBoth<T>>;
/** The same words in both languages, such as a name. */
const same = (text: string) => inBoth(text, text);

function scene(
  at: number,
  type: string,
  name: string,
  {
    texts = {},
    fields = {},
    ...more
  }: Readonly<Record<string, unknown>> & {
    readonly texts?: Readonly<Record<string, InBoth<unknown>>>;
    readonly fields?: Readonly<Record<string, unknown>>;
  },
): Scene {
  const custom_fields = [
    ...Object.entries(texts).map(([key, values]) => ({ key, values })),
    ...Object.entries(fields).map(([key, value]) => all(key, value)),
  ];
  return { at, attributes: { content_type: type, name, custom_fields, ...more } };
}

const asked = (question: InBoth<string>, ...options: readonly InBoth<string>[]) => ({
  fields: [{ key: "question", values: question }],
  ...(options.length > 0 && {
    options: options.map(values => ({ fields: [{ key: "text", values }] })),
  }),
});

/** Quizzes and predictions show their answer some seconds after they close. */
const revealAfter = (seconds: number) => ({ reveal_answer_mode: "auto", reveal_answer_in: seconds });

const showMs = 600_000;

const home = inBoth("Home", "Heim");
const away = inBoth("Away", "Gast");

const scenes: readonly Scene[] = [
  scene(0, "message", "Welcome", {
    texts: {
      title: inBoth("Welcome to the match", "Willkommen zum Spiel"),
      body: inBoth(
        "Vote, answer and <strong>collect points</strong>.",
        "Stimme ab, rate mit und <strong>sammle Punkte</strong>.",
      ),
    },
  }),
  scene(6, "poll", "Winner", {
    question: asked(
      inBoth("Who wins tonight?", "Wer gewinnt heute?"),
      home,
      away,
      inBoth("Nobody", "Niemand"),
    ),
    duration: 60,
  }),
  scene(75, "quiz", "First World Cup", {
    question: asked(
      inBoth("In which year was the first World Cup?", "In welchem Jahr war die erste Weltmeisterschaft?"),
      ...["1926", "1930", "1934"].map(same),
    ),
    correct_option: 2,
    texts: {
      explanation: inBoth("Uruguay was the host, and won it.", "Uruguay war Gastgeber und gewann."),
    },
    fields: { points: 20 },
    duration: 30,
    ...revealAfter(3),
  }),
  scene(120, "cheer", "Noise", {
    question: asked(inBoth("Make some noise for your team", "Feuere deine Mannschaft an"), home, away),
    duration: 45,
    max_votes_per_user: 0,
    max_votes_per_option: 0,
  }),
  scene(175, "prediction", "Goals", {
    question: asked(
      inBoth("How many goals will there be?", "Wie viele Tore fallen?"),
      inBoth("None or one", "Keins oder eins"),
      inBoth("Two or three", "Zwei oder drei"),
      inBoth("Four or more", "Vier oder mehr"),
    ),
    correct_option: 2,
    fields: { points: 30 },
    duration: 60,
    ...revealAfter(245),
  }),
  scene(245, "rating", "First half", {
    question: asked(inBoth("How was the first half?", "Wie war die erste Halbzeit?")),
    texts: {
      labels: inBoth(["Dull", "Slow", "Fair", "Good", "Great"], ["Öde", "Zäh", "Mäßig", "Gut", "Stark"]),
    },
    fields: { scale: 5 },
    duration: 45,
  }),
  scene(300, "poll", "Players of the match", {
    question: asked(
      inBoth("Who played best? Choose two.", "Wer hat am besten gespielt? Wähle zwei."),
      ...["Amara", "Jonas", "Mei", "Zoë"].map(same),
    ),
    min_options_per_vote: 2,
    max_options_per_vote: 2,
    duration: 60,
  }),
  scene(370, "ask", "Questions for the captain", {
    question: asked(inBoth("What should we ask the captain?", "Was sollen wir die Kapitänin fragen?")),
    duration: 60,
  }),
  scene(435, "quiz", "Marathon", {
    question: asked(
      inBoth("How far does a player run in a match?", "Wie weit läuft man in einem Spiel?"),
      inBoth("About 3 km", "Etwa 3 km"),
      inBoth("About 11 km", "Etwa 11 km"),
      inBoth("About 25 km", "Etwa 25 km"),
    ),
    correct_option: 2,
    fields: { points: 20 },
    duration: 30,
    ...revealAfter(3),
  }),
  scene(490, "leaderboard", "Table", { fields: { leaderboard_id: "overall", limit: 5 } }),
  scene(505, "cta", "Fan shop", {
    texts: { label: inBoth("Spend your points in the shop", "Gib deine Punkte im Shop aus") },
    fields: { url: "https://shop.example/" },
  }),
  scene(520, "countdown", "Next show", {
    texts: { title: inBoth("The show begins again in", "Die Show beginnt wieder in") },
  }),
];

/** Marks the elements of the show, so that those of producers stay. */
const annotation = "demo_show";
const fanNames = ["Amara", "Jonas", "Mei", "Tom", "Zoë", "Luis", "Ines"];
/** Longest time that a fan takes to decide, in ms. */
const hesitationMsMax = 20_000;
const cheersOfFan = 3;
const textsOfFans = [
  "Who is the funniest in the dressing room?",
  "What do you eat before a match?",
  "Which stadium is the loudest?",
];

type Fan = FanClient<{ readonly loyalty: typeof loyalty }>;
type Authoring = Client<{ readonly control: typeof control }>["control"];
type Element = Awaited<ReturnType<Authoring["readElement"]>>;

interface Act {
  /** Unix ms. */
  readonly at: number;
  readonly fan: Fan;
  readonly body: BodyOf<Fan["loyalty"]["reportAction"]>;
}

interface DemoShowOptions {
  readonly store: Store;
  readonly ids: DemoIds;
  /** Address of the platform. */
  readonly url: string;
  /** Access token of an operator. */
  readonly token: string;
  /** Unix ms. */
  readonly clock: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
}

export class DemoShow {
  readonly #options: DemoShowOptions;
  readonly #fetch: (address: string, init: RequestInit) => Promise<Response>;
  readonly #control: Authoring;
  #fans: readonly Fan[] = [];
  #endsAt = 0;
  #acts: readonly Act[] = [];

  constructor(platform: Platform, options: DemoShowOptions) {
    this.#options = options;
    const { url, token } = options;
    // In the process, as the limits for an address are those of the developer who watches.
    this.#fetch = (address, init) => platform.fetch(new Request(address, init));
    const common = { url, fetch: this.#fetch };
    this.#control = createClient({ ...common, areas: { control }, credentials: accessToken(token) }).control;
  }

  /** Does what is due. Call it about once a second. */
  async work(): Promise<void> {
    const now = this.#options.clock();
    if (now >= this.#endsAt) await this.#begin(now);
    const due = this.#acts.filter(({ at }) => at <= now);
    this.#acts = this.#acts.filter(({ at }) => at > now);
    await Promise.all(due.map(({ fan, body }) => report(fan, body)));
  }

  /** Begins the show, or goes on with the one that another process has begun. Does nothing once a producer has stopped the event. */
  async #begin(now: number): Promise<void> {
    const { store, ids } = this.#options;
    const { attributes: event } = await this.#control.readEvent({ eventId: ids.eventId });
    if (event.state !== "current") return;
    const startAt = Number(event.start_at) * 1_000;
    const endsAt = now + showMs;
    this.#endsAt = await demoShowEnd(store, { now, endsAt });
    if (this.#endsAt === endsAt) await this.#replaceElements(Math.ceil((now - startAt) / 1_000));
    if (this.#fans.length === 0) this.#fans = await Promise.all(fanNames.map(name => this.#join(name)));
    const acts = (await this.#elements()).flatMap(element =>
      this.#fans.flatMap(fan => this.#actsOf(fan, element, startAt)),
    );
    this.#acts = acts.filter(({ at }) => at > now);
  }

  /** Replaces the elements of the last show in one step. The platform publishes, closes and reveals them by its clock. */
  async #replaceElements(offset: number): Promise<void> {
    const event = { data: { type: "events", id: this.#options.ids.eventId } };
    const fields = { start_mode: "timecode", annotations: { [annotation]: "true" } };
    const target = all("target", new Date(this.#endsAt).toISOString());
    const operations = [
      ...(await this.#elements()).map(({ id }) => ({ op: "remove" as const, ref: { type: "elements", id } })),
      ...scenes.map(({ at, attributes }) => ({
        op: "add" as const,
        data: {
          type: "elements",
          attributes: {
            ...attributes,
            ...fields,
            start_offset: offset + at,
            ...(attributes.content_type === "countdown" && {
              custom_fields: [...attributes.custom_fields, target],
            }),
          },
          relationships: { event },
        },
      })),
    ];
    await this.#control.makeOperations({ body: { "atomic:operations": operations } });
  }

  async #elements(): Promise<readonly Element[]> {
    const { eventId } = this.#options.ids;
    const query = { eventId, "filter[annotation]": `${annotation}=true`, "page[count]": 100 } as const;
    return await this.#control.listEventElements(query);
  }

  async #join(username: string): Promise<Fan> {
    const { url, ids } = this.#options;
    const common = { url, fetch: this.#fetch, projectId: ids.projectId };
    const fan = createFanClient({ ...common, areas: { loyalty }, storage: memoryStorage() });
    await fan.session.register({ provider: "noLogin", username });
    return fan;
  }

  #actsOf(fan: Fan, { id: elementId, attributes }: Element, startAt: number): readonly Act[] {
    const { chance } = this.#options;
    const { content_type: type, start_offset: offset = 0, duration = 0, question } = attributes;
    const pick = (count: number): number => 1 + Math.floor(chance() * count);
    const at = (): number => startAt + offset * 1_000 + chance() * Math.min(hesitationMsMax, duration * 900);
    if (type === "ask") {
      const data = { elementId, text: textsOfFans[pick(textsOfFans.length) - 1] ?? "" };
      return [{ at: at(), fan, body: { action: "ask", data } }];
    }
    const options = type === "rating" ? 5 : (question?.options?.length ?? 0);
    if (options === 0) return [];
    return Array.from({ length: type === "cheer" ? cheersOfFan : 1 }, () => {
      const first = pick(options);
      const isMultiple = (attributes.min_options_per_vote ?? 1) > 1;
      const option = isMultiple ? `${first},${(first % options) + 1}` : String(first);
      return { at: at(), fan, body: { action: "vote", data: { elementId, option } } };
    });
  }
}

async function report(fan: Fan, body: Act["body"]): Promise<void> {
  try {
    await fan.loyalty.reportAction({ body });
  } catch (error) {
    // A producer may have stopped or removed the element.
    if (!(error instanceof GrandstandError) || error.code !== "vote_closed") throw error;
  }
}

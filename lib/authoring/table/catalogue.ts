/** The app that the platform has itself: common types of elements, which a project can use without an app of its own. */

import type { AppSpec } from "./app_spec.ts";
import { answerField } from "./content.ts";
import type { ContentType, Property } from "./content_types.ts";

type More = Partial<Property>;

/** A property; `!` at the end of the key says that publishing needs it. */
function property(name: string, type: NonNullable<Property["type"]>, more: More = {}): Property {
  const key = name.replace("!", "");
  const words = key
    .replace(/_/g, " ")
    .replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
  const label = words.charAt(0).toUpperCase() + words.slice(1);
  return { key, label, field: type, type, mandatory: name.endsWith("!"), ...more };
}

function type(
  name: string,
  fields: readonly Property[],
  { categories = ["engagement"], ...more }: Partial<ContentType> & { readonly categories?: string[] } = {},
): ContentType {
  const title = name === "cta" ? "Call to action" : name.charAt(0).toUpperCase() + name.slice(1);
  return {
    name: title,
    content_type: name,
    categories,
    question: [],
    option: [],
    custom_fields: fields.length === 0 ? [] : [{ name: title, properties: [...fields] }],
    ...more,
  };
}

const all = (key: string, value: unknown) => ({ key, values: { all: value } });
const image = property("image", "asset", { aliases: ["image_url"] });
const asked: More = { aliases: ["text"], max_length: 500 };
const question = [property("question!", "text", asked)];
/** The question of types that also have a prompt, which says the same. */
const promptedQuestion = [property("question", "text", asked)];
const option = [property("text!", "text", { max_length: 200 }), image];

interface Choice {
  readonly options?: { readonly min: number; readonly max: number };
  readonly attributes?: Readonly<Record<string, unknown>>;
}

function choice(
  text: string,
  texts: readonly string[],
  { options = { min: 2, max: 8 }, attributes = {} }: Choice = {},
): Partial<ContentType> {
  const data = {
    ...attributes,
    question: {
      fields: [all("question", text)],
      options: texts.map(each => ({ fields: [all("text", each)] })),
    },
  };
  return { question, option, options_number: options, templates: [{ name: "default", title: text, data }] };
}

function template(title: string, fields: Readonly<Record<string, unknown>>): Partial<ContentType> {
  const custom_fields = Object.entries(fields).map(([key, value]) => all(key, value));
  return { templates: [{ name: "default", title, data: { custom_fields } }] };
}

const answers = [
  property(answerField, "integer", { min: 0, max: 8 }),
  property("explanation", "rich_text"),
  property("points", "integer", { min: 0, max: 1_000_000 }),
];

const types: readonly ContentType[] = [
  type(
    "message",
    [
      property("title", "text", { max_length: 200 }),
      property("body!", "rich_text"),
      property("severity", "enum", { values: ["info", "success", "warning", "error"], default: "info" }),
      image,
    ],
    {
      categories: ["information"],
      ...template("Message", { title: "Welcome", body: "<strong>Welcome</strong>" }),
    },
  ),
  type(
    "media",
    [
      property("asset!", "asset"),
      property("caption", "text"),
      property("captions", "asset"),
      property("poster", "asset"),
    ],
    {
      categories: ["information"],
    },
  ),
  type("poll", [], { derived_from: "rpoll", ...choice("Who wins?", ["Home", "Away"]) }),
  type(
    "rating",
    [
      property("scale", "integer", { min: 2, max: 10, default: 5 }),
      property("steps", "number", { min: 0.1, max: 1 }),
      property("labels", "text", { many: true }),
    ],
    { derived_from: "rpoll", question, templates: [] },
  ),
  type("quiz", answers, { derived_from: "trivia", ...choice("Who scored first?", ["Home", "Away"]) }),
  type("prediction", answers, {
    derived_from: "prediction",
    ...choice("Who will win?", ["Home", "Away", "Nobody"]),
  }),
  type(
    "ask",
    [property("prompt", "text"), property("max_length", "integer", { min: 1, max: 1_024, default: 280 })],
    { question: promptedQuestion, any_of: [["prompt"], ["question"]] },
  ),
  type("cheer", [property("prompt", "text")], {
    ...choice("Make some noise!", ["Home", "Away"], {
      options: { min: 1, max: 2 },
      // Each tap is a vote; elements allow one by default.
      attributes: { max_votes_per_user: 0, max_votes_per_option: 0 },
    }),
    question: promptedQuestion,
  }),
  type("countdown", [property("target!", "datetime"), property("title", "text")], {
    categories: ["information"],
  }),
  type("cta", [property("label!", "text", { max_length: 100 }), property("url!", "url"), image], {
    categories: ["information"],
    ...template("Call to action", { label: "Fan shop", url: "https://shop.example/" }),
  }),
  type(
    "leaderboard",
    [
      property("leaderboard_id!", "leaderboard_ref", { label: "Leaderboard", default: "overall" }),
      property("limit", "integer", { min: 1, max: 100, default: 10 }),
      property("round", "integer", { min: 1, max: 9_999 }),
    ],
    { categories: ["loyalty"], ...template("Leaderboard", { leaderboard_id: "overall", limit: 10 }) },
  ),
  type(
    "reward",
    [
      property("title", "text", { max_length: 200 }),
      property("metric_id", "metric_ref"),
      property("amount", "integer", { min: 1 }),
      property("inventory_item", "text"),
      property("coupon_id", "text"),
      property("action", "text"),
    ],
    { categories: ["loyalty"], any_of: [["metric_id", "amount"], ["inventory_item"], ["coupon_id"]] },
  ),
  type(
    "group",
    [
      property("title", "text", { max_length: 200 }),
      property("layout", "enum", { values: ["rail", "grid", "carousel", "sequence"], default: "rail" }),
    ],
    { categories: ["layout"], wrapper: true, ...template("Rail", { title: "Today", layout: "rail" }) },
  ),
];

const version = "1.0.0";

/** The path of the catalogue's files below the address of the platform. */
export const cataloguePath = `/apps/catalogue/${version}` as const;
export const catalogueSpecPath = `${cataloguePath}/spec.json` as const;

export function catalogueApp(publicUrl: string): AppSpec {
  return {
    spec: {
      name: "Catalogue",
      id: "catalogue",
      version,
      base_apps_url: `${publicUrl}/apps`,
      listings: { past: 10, future: 10 },
      curation: false,
      schedule: true,
      analytics: true,
      live_activity: true,
      localisation: true,
      extensions: [],
      element_categories: ["engagement", "information", "loyalty", "layout"],
    },
    elements: types,
  };
}

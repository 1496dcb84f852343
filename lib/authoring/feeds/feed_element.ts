/**
 * Elements as the history of an event shows them, from their attributes alone, so that the studio shows a draft in the same
 * form.
 */

import type { VoteBounds } from "../../fans/loyalty/votes/elements.ts";
import { answerField } from "../table/content.ts";
import type { Field } from "../table/schemas.ts";
import type { History } from "./schemas.ts";

/** The custom field that says why an answer is right. */
const explanationField = "explanation";
/** The scale of a rating that names none, as its content type says. */
const scaleDefault = 5;

type Timeline = History["timeline"];
type Attributes = Readonly<Record<string, unknown>>;

/** An element at an instant. Times are Unix seconds. */
interface FeedElement {
  readonly id: string;
  readonly attributes: Attributes;
  readonly state: string;
  readonly parent?: string | undefined;
  readonly publishedAt: number;
  readonly closesAt: number | null;
  readonly updatedAt: number;
  /** True once everybody may see the right option. */
  readonly isAnswered: boolean;
  /** Texts of fans that are shown. */
  readonly answers?: Timeline[number]["answers"] | undefined;
  readonly assets?: FeedAssets | undefined;
}

/** Files of the space by the id or address that contents name them by. */
export type FeedAssets = ReadonlyMap<
  string,
  {
    readonly url: string;
    /** What it shows; "" where nobody has said so. */
    readonly text: string;
  }
>;

export const noAssets: FeedAssets = new Map();

export function feedElement(element: FeedElement): Timeline[number] {
  const { id, attributes, state, parent, closesAt, answers, assets } = element;
  const custom = publicFields(element);
  return withoutNulls({
    id,
    content_type: String(attributes.content_type),
    state,
    ...(parent === undefined ? {} : { parent }),
    published_at_iso: isoOf(element.publishedAt),
    closes_at_iso: isoOf(closesAt),
    duration: numberOf(attributes.duration) || null,
    updated_at_iso: isoOf(element.updatedAt),
    custom_fields: byLocale(custom, assets),
    ...contentOf({ attributes, isAnswered: element.isAnswered, assets, custom }),
    ...(answers === undefined ? {} : { answers }),
    vote: votingRulesOf(attributes),
  });
}

function publicFields({ attributes, isAnswered }: FeedElement): unknown {
  const { custom_fields: own, correct_option: answer } = attributes;
  if (!Array.isArray(own) || isAnswered) return own;
  const fields = own as readonly { readonly key: string }[];
  const hasAnswer = (numberOf(answer) ?? 0) > 0 || fields.some(({ key }) => key === answerField);
  const secret = hasAnswer ? [answerField, explanationField] : [answerField];
  return fields.filter(({ key }) => !secret.includes(key));
}

interface ShownContent extends Pick<FeedElement, "attributes" | "isAnswered" | "assets"> {
  /** Custom fields that are shown beside the question. */
  readonly custom?: unknown;
}

/** Returns the question of an element, its options, the right one if everybody may see it, and what its pictures show. */
export function contentOf({ attributes, isAnswered, assets, custom }: ShownContent) {
  const { fields, options = [] } = questionOf(attributes);
  const answer = typeof attributes.correct_option === "number" ? attributes.correct_option : null;
  return {
    question: byLocale(fields, assets),
    options: options.map(option => byLocale(option.fields, assets)),
    ...(isAnswered ? { correct_option: answer } : {}),
    alt_texts: altTextsOf([fields, custom, ...options.map(option => option.fields)], assets),
  };
}

function altTextsOf(lists: readonly unknown[], assets = noAssets): Record<string, string> | null {
  const values = lists.flatMap(fieldsOf).flatMap(field => Object.values(field.values).flat());
  const named = values.flatMap(value => assets.get(value as string) ?? []);
  const texts = named.filter(({ text }) => text !== "").map(({ url, text }) => [url, text] as const);
  return texts.length === 0 ? null : Object.fromEntries(texts);
}

interface Question {
  readonly fields?: unknown;
  readonly options?: readonly { readonly fields?: unknown }[];
}

export function questionOf({ question }: Attributes): Question {
  return (question ?? {}) as Question;
}

/** Returns how many options votes choose from; the marks of a rating are its options. */
export function optionCountOf(attributes: Attributes): number {
  const { options = [] } = questionOf(attributes);
  if (options.length > 0 || attributes.content_type !== "rating") return options.length;
  const scale = fieldsOf(attributes.custom_fields).find(({ key }) => key === "scale");
  return numberOf(scale?.values.all) ?? scaleDefault;
}

function votingRulesOf(attributes: Attributes): Timeline[number]["vote"] {
  const { optionsMin, optionsMax, perUser, needsVerifiedUser } = boundsOf(attributes);
  const { reveal_answer_on_vote: tellsAnswer, reveal_results_mode: resultsMode = "vote" } = attributes;
  return {
    min: optionsMin,
    max: optionsMax,
    perUser,
    verified: needsVerifiedUser,
    answerOnVote: tellsAnswer === true,
    resultsMode: String(resultsMode),
  };
}

export function boundsOf(attributes: Attributes): VoteBounds {
  const numberIn = (name: string): number => numberOf(attributes[name]) ?? 1;
  return {
    perUser: numberIn("max_votes_per_user"),
    perOption: numberIn("max_votes_per_option"),
    optionsMin: numberIn("min_options_per_vote"),
    optionsMax: numberIn("max_options_per_vote"),
    needsVerifiedUser: attributes.require_verified_user === true,
  };
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

type ByLocale = Record<string, Record<string, unknown>>;

/** Returns fields by locale and key, without null. `all`, whose values are those of every locale, is always there. */
export function byLocale(fields: unknown, assets = noAssets): ByLocale {
  const shown = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(shown) : (assets.get(value as string)?.url ?? value);
  const found: ByLocale = { all: {} };
  for (const { key, values } of fieldsOf(fields)) {
    for (const [locale, value] of Object.entries(values)) {
      if (value !== null) found[locale] = { ...found[locale], [key]: shown(value) };
    }
  }
  return found;
}

export function fieldsOf(fields: unknown): readonly Field[] {
  return Array.isArray(fields) ? (fields as readonly Field[]) : [];
}

export function withoutNulls<T extends object>(value: T): { readonly [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null)) as never;
}

/** Returns a time in Unix seconds as ISO 8601. */
export function isoOf(seconds: number): string;
export function isoOf(seconds: number | null): string | null;
export function isoOf(seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1_000).toISOString();
}

/** The language of the page: its texts, numbers and times. */

import { signal } from "@preact/signals";
import { wordsOfBoard } from "../../shared/page/board_name.ts";
import { texts as english, type Text, type Texts } from "./texts_en.ts";

/** Texts that load when they are needed. */
const others: Readonly<Record<string, () => Promise<{ readonly texts: Texts }>>> = {
  ar: () => import("./texts_ar.ts"),
  de: () => import("./texts_de.ts"),
  es: () => import("./texts_es.ts"),
  fr: () => import("./texts_fr.ts"),
  pt: () => import("./texts_pt.ts"),
};
const rightToLeft = new Set(["ar", "fa", "he", "ur"]);

/** The language of the content. */
export const locale = signal("en");
/** The first language of the project, for texts that are in no other one. */
export const firstLocale = signal("");
const current = signal({ texts: english as Texts, language: "en" });

/** Chooses the language that the address names, the browser prefers or the project begins with. */
export async function chooseLocale(wanted: readonly string[], offered: readonly string[]): Promise<void> {
  const baseOf = (name: string): string => name.split("-", 1)[0] ?? "";
  const isKnown = (name: string): boolean =>
    offered.some(each => baseOf(each) === baseOf(name)) || baseOf(name) in others || baseOf(name) === "en";
  const chosen = wanted.find(name => isLocale(name) && isKnown(name)) ?? offered[0] ?? "en";
  locale.value = isLocale(chosen) ? chosen : "en";
  firstLocale.value = offered[0] ?? "";
  document.documentElement.lang = locale.value;
  document.documentElement.dir = rightToLeft.has(baseOf(locale.value)) ? "rtl" : "ltr";
  const language = baseOf(locale.value);
  // A lost file leaves English, which is better than no page.
  const found = await others[language]?.().catch(() => undefined);
  if (found === undefined) current.value = { texts: english, language: "en" };
  else current.value = { texts: keyed(Object.values(found.texts)), language };
}

/** Gives texts their keys: the build leaves all but the English ones without. */
function keyed(values: readonly Text[]): Texts {
  const entries = Object.keys(english).map((key, index) => [key, values[index] ?? ""]);
  return Object.fromEntries(entries) as Texts;
}

function isLocale(name: string): boolean {
  try {
    return Intl.getCanonicalLocales(name).length === 1;
  } catch {
    return false;
  }
}

type Values = Readonly<Record<string, string | number>>;

/** Returns a text with its values. */
export function t(key: keyof Texts, values: Values = {}): string {
  const { texts, language } = current.value;
  return formOf(texts[key], language, values).replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? "";
    return typeof value === "number" ? number(value) : value;
  });
}

/** Returns the form of a text for the number that it counts. */
export function formOf(text: Text, language: string, { count = 0 }: Values): string {
  return typeof text === "string"
    ? text
    : (text[new Intl.PluralRules(language).select(Number(count))] ?? text.other);
}

export function number(value: number): string {
  return new Intl.NumberFormat(locale.value).format(value);
}

export function percent(part: number): string {
  return new Intl.NumberFormat(locale.value, { style: "percent" }).format(part);
}

/** Writes a time of Unix ms: the hour, and the day unless it is today. */
export function moment(at: number, now: number): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  const form = isToday
    ? ({ timeStyle: "short" } as const)
    : ({ dateStyle: "medium", timeStyle: "short" } as const);
  return new Intl.DateTimeFormat(locale.value, form).format(at);
}

export function clockTime(at: number): string {
  return new Intl.DateTimeFormat(locale.value, { timeStyle: "medium" }).format(at);
}

/** Writes the days from one to another, both included. */
export function days(from: number, to: number): string {
  return new Intl.DateTimeFormat(locale.value, { dateStyle: "medium" }).formatRange(from, to);
}

/** Writes a duration such as `1:05`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const [hours = 0, minutes = 0, rest = 0] = parts;
  const two = (part: number): string => String(part).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** Units of time from the longest, in ms. */
const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** Writes how long something goes on, in its longest unit. */
export function timeLeft(ms: number): string {
  const [unit, long] = units.find(([, each]) => ms >= each) ?? units[2];
  const form = { style: "unit", unit, unitDisplay: "long" } as const;
  const time = new Intl.NumberFormat(locale.value, form).format(Math.max(1, Math.round(ms / long)));
  return t("left", { time });
}

export function countryName(code: string): string {
  return new Intl.DisplayNames(locale.value, { type: "region", fallback: "code" }).of(code) ?? code;
}

/** Writes the id of a board as its name. */
export function boardName(id: string): string {
  const words = wordsOfBoard(id);
  const round = /^Round (\d+)$/.exec(words)?.[1];
  return round === undefined ? words : t("round", { number: round });
}

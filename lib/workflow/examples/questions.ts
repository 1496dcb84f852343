/** The questions of a CSV file. */

import * as v from "valibot";
import { parseCsvRow, RecordSplitter } from "../../base/text/mod.ts";

/** Most questions of a file: the platform makes 500 changes at once, and one of them guards the others. */
const questionsMax = 499;

export const QuestionSchema = v.object({
  /** Its row in the file, from 1 as a spreadsheet counts. */
  row: v.number(),
  question: v.string(),
  options: v.array(v.string()),
  /** Number of the right option, from 1. */
  correct: v.number(),
});
export type Question = v.InferOutput<typeof QuestionSchema>;

interface ReadQuestions {
  readonly questions: readonly Question[];
  readonly faults: readonly string[];
}

/** Reads a file with the columns `question`, `option 1` and so on, and `correct`. Other columns are passed over. */
export function readQuestions(bytes: Uint8Array): ReadQuestions {
  let records: readonly string[];
  try {
    const splitter = new RecordSplitter(true);
    records = [...splitter.push(new TextDecoder("utf-8", { fatal: true }).decode(bytes)), ...splitter.end()];
  } catch {
    return { questions: [], faults: ["The file is no CSV in UTF-8"] };
  }
  const header = cellsOf(records[0] ?? "").map(name => name.toLowerCase());
  const missing = ["question", "option 1", "option 2", "correct"].filter(name => !header.includes(name));
  if (missing.length > 0)
    return { questions: [], faults: missing.map(name => `The column ${name} is missing`) };
  const read = records
    .slice(1)
    .flatMap((record, index) => (/^[\s,]*$/.test(record) ? [] : [readRow(header, record, index + 2)]));
  const faults = read.flatMap(row => (typeof row === "string" ? [row] : []));
  const questions = read.filter(row => typeof row !== "string");
  if (read.length === 0) faults.push("The file has no questions");
  if (read.length > questionsMax)
    faults.push(`The file has ${read.length} questions; ${questionsMax} can be imported at once`);
  return { questions, faults };
}

function readRow(header: readonly string[], record: string, row: number): Question | string {
  const cells = cellsOf(record);
  if (cells.length !== header.length) return `Row ${row}: Expected ${header.length} cells, as the header has`;
  const question = cells[header.indexOf("question")] ?? "";
  const options = cells.filter((cell, column) => cell !== "" && header[column]?.startsWith("option"));
  const correct = Number(cells[header.indexOf("correct")]);
  if (question === "") return `Row ${row}: The question is missing`;
  if (options.length < 2) return `Row ${row}: Expected two options or more`;
  const isOption = Number.isInteger(correct) && correct >= 1 && correct <= options.length;
  return isOption
    ? { row, question, options, correct }
    : `Row ${row}: Expected a number from 1 to ${options.length} as correct`;
}

function cellsOf(record: string): readonly string[] {
  return (parseCsvRow(record) ?? []).map(({ text }) => text.trim());
}

/**
 * What is wrong with a value, in words for whoever sent it. Valibot's own messages repeat the value, which may be a secret or
 * very long, and speak of its schemas.
 *
 * @module
 */

import type { BaseIssue } from "valibot";

/** What an issue means; a message that the schema's author wrote stays. The rejected value is never repeated. */
export function issueDetail(issue: BaseIssue<unknown>): string {
  if (issue.type === "strict_object" && issue.expected === "never") return "Is not a known member";
  if (issue.received === "undefined") return "Is required";
  const received = `eceived ${issue.received}`;
  if (!issue.message.startsWith("Invalid ") || !issue.message.endsWith(received)) return issue.message;
  return expectation(issue) ?? issue.message.slice(0, -received.length).replace(/(?: but r|: R)$/, "");
}

function expectation({ type, expected, requirement, input }: BaseIssue<unknown>): string | null {
  switch (type) {
    case "min_length":
    case "max_length":
      return `Expected at ${bound(type)} ${counted(Number(requirement), input)}`;
    case "min_value":
    case "max_value":
      return typeof requirement === "number" ? `Expected at ${bound(type)} ${requirement}` : null;
    case "max_entries":
      return `Expected no more members than ${requirement}`;
    case "integer":
    case "safe_integer":
      return "Expected a whole number";
    case "finite":
      return "Expected a finite number";
    case "uuid":
      return "Expected a UUID";
    default:
      return expected === null || type === "regex" ? null : `Expected ${named(expected)}`;
  }
}

function bound(type: "min_length" | "max_length" | "min_value" | "max_value"): "least" | "most" {
  return type.startsWith("min") ? "least" : "most";
}

function counted(count: number, input: unknown): string {
  const thing = typeof input === "string" ? "character" : "item";
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** `Object` or `("a" | "b")` as a reader would say it. */
function named(expected: string): string {
  const isChoice = expected.startsWith("(") && expected.endsWith(")");
  const choices = isChoice ? expected.slice(1, -1).split(" | ") : [expected];
  const [last = "", ...others] = choices.map(withArticle).reverse();
  return others.length === 0 ? last : `${others.reverse().join(", ")} or ${last}`;
}

function withArticle(name: string): string {
  if (name === "Object" || name === "Array") return `an ${name.toLowerCase()}`;
  return ["string", "number", "boolean"].includes(name) ? `a ${name}` : name;
}

import type * as v from "valibot";
import type { FieldError } from "../../errors/mod.ts";
import { issueDetail } from "../../http/mod.ts";

/** What a schema found, by JSON Pointers into the document that the checked part is in. */
export function fieldErrors(issues: readonly v.BaseIssue<unknown>[], pointer = ""): FieldError[] {
  return issues.map(issue => ({
    pointer: `${pointer}${issue.path?.map(({ key }) => `/${token(String(key))}`).join("") ?? ""}`,
    detail: issueDetail(issue),
  }));
}

/** A reference token of RFC 6901, cut where somebody wrote a novel for a name. */
function token(key: string): string {
  return key.slice(0, 64).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1");
}

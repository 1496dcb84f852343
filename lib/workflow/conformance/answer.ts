import { canonicalJson } from "../../http/requests/body.ts";
import { dialogueLimits, responseFaults, type WorkflowResponse } from "../dialogue/mod.ts";

export interface Answer {
  /** 0: nothing. */
  readonly status: number;
  readonly headers: Headers;
  /** Null unless the status is 200 and the form is right. */
  readonly view: WorkflowResponse | null;
  /** What is wrong with a 200, or what kept the backend from answering. */
  readonly faults: readonly string[];
  readonly ms: number;
}

/** A sentence about what is wrong; null if nothing is. */
export type Fault = string | null;

export function readAnswer({ status, headers }: Response, text: string, ms: number): Answer {
  const answer = (faults: readonly string[], view: WorkflowResponse | null = null): Answer => {
    return { status, headers, view, faults, ms };
  };
  if (status !== 200) return answer([]);
  const type = headers.get("content-type") ?? "none";
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type)) return answer([`its type is ${type}, not JSON`]);
  const { answerBytesMax } = dialogueLimits;
  if (text.length > answerBytesMax) return answer([`it has more than ${answerBytesMax} bytes`]);
  try {
    const value = JSON.parse(text) as WorkflowResponse;
    const faults = responseFaults(value).map(({ pointer, detail }) => `${pointer}: ${detail}`);
    return answer(faults, faults.length > 0 ? null : value);
  } catch {
    return answer(["its body is no JSON"]);
  }
}

/** What an answer has to be: a status, any 4xx, a view, a 4xx or a view that warns and starts nothing, a 4xx or no task. */
export type Wanted = number | "4xx" | "a view" | "a 4xx or a warning" | "a 4xx or no task";

/** Compares an answer with what it has to be. A warning may show the task that an earlier answer began. */
export function expects(wanted: Wanted, request: string, answer: Answer, earlier?: Answer): Fault {
  const { status, view, faults } = answer;
  if (isAs(wanted, answer, earlier?.view?.task?.id)) return null;
  const shown = view === null ? "" : ` with a view${hasWarning(view) ? " and a warning" : ""}`;
  const said = status === 0 ? "no answer" : `${status}${shown}`;
  return `${request}: ${[said, ...faults.slice(0, 1)].join(", ")}; expected ${wanted}`;
}

function isAs(wanted: Wanted, { status, view }: Answer, taskId: string | undefined): boolean {
  if (typeof wanted === "number") return status === wanted;
  if (wanted === "a view") return view !== null;
  if (view === null || wanted === "4xx") return status >= 400 && status < 500;
  if (wanted === "a 4xx or no task") return view.task === undefined;
  return hasWarning(view) && (view.task?.state !== "running" || view.task.id === taskId);
}

function hasWarning({ blocks }: WorkflowResponse): boolean {
  return blocks.some(
    block => block.type === "alert" && (block.severity === "warning" || block.severity === "error"),
  );
}

/** Requires that a second press was answered as one that does nothing. */
export function isOnce(first: Answer, second: Answer): Fault {
  const shown = ({ view }: Answer): string =>
    canonicalJson([view?.blocks, view?.actions, view?.autoAction, view?.task?.id].map(part => part ?? null));
  const isSame = first.view !== null && second.view !== null && shown(first) === shown(second);
  const fault = isSame ? null : expects("a 4xx or a warning", "the second press", second, first);
  return fault && `${fault}, or the view of the first`;
}

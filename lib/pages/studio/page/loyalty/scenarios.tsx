/** Scenarios that play in the page against the configuration as it is edited: no fan and no server takes part. */

import { useMemo, useState } from "preact/hooks";
import { isMembers } from "../../../../base/json/mod.ts";
import type { FieldError } from "../../../../client/mod.ts";
import type { ScenarioCheck } from "../../../../fans/loyalty/views/scenario_player.ts";
import { saveFile } from "../../../shared/page/files.ts";
import type { Resource } from "../api.ts";
import { DocumentEditor, OpenFile } from "../documents/editor.tsx";
import { jsonText, readJson } from "../documents/json_text.ts";
import { Act } from "../ui.tsx";
import type { PartProps } from "./part.ts";

interface Played {
  readonly checks: readonly ScenarioCheck[];
  /** Faults of the scenarios, which then did not play. */
  readonly faults: readonly FieldError[];
}

export function Scenarios({ context, document, faults: broken }: PartProps) {
  const { id } = context.chain.at(-1) as Resource;
  const [text, setText] = useState(() => keptText(id) ?? jsonText(exampleFor(document.read.value)));
  const [played, setPlayed] = useState<Played | null>(null);
  const read = useMemo(() => readJson(text), [text]);
  const refusal =
    document.read.fault !== null || broken.length > 0
      ? "Correct the configuration first."
      : read.fault !== null
        ? "Correct the scenarios first."
        : null;
  async function run(): Promise<void> {
    keepText(id, text);
    // Only who plays loads what grants, products and boards do.
    const [{ attempt }, { playScenarios }] = await Promise.all([
      import("./engine.ts"),
      import("../../../../fans/loyalty/views/scenario_player.ts"),
    ]);
    const { value: checks = [], faults } = attempt(() => playScenarios(document.read.value, read.value));
    const found = { checks, faults };
    const failed = checks.filter(({ hasPassed }) => !hasPassed).length;
    setPlayed(found);
    context.announce(
      found.faults.length > 0 ? "The scenarios have faults." : summaryOf(found.checks.length, failed),
    );
  }
  return (
    <>
      <div class="row spread">
        <p class="quiet">
          Say what imagined fans do and what they should have then. It plays here, with your unsaved changes.
        </p>
        <div class="row">
          <OpenFile onText={setText} />
          <button type="button" onClick={() => saveFile("scenarios.json", text)}>
            Save as file
          </button>
          <Act class="main" refusal={refusal} onPress={run}>
            Play
          </Act>
        </div>
      </div>
      {played !== null && played.faults.length === 0 && <Checks checks={played.checks} />}
      <DocumentEditor
        label="Scenarios"
        document={{
          text,
          read,
          setText(next) {
            setText(next);
            setPlayed(null);
          },
        }}
        faults={played?.faults ?? []}
      />
    </>
  );
}

function summaryOf(all: number, failed: number): string {
  if (all === 0) return "Nothing was expected: add a step with expect.";
  return failed === 0 ? `All ${all} expectations hold.` : `${failed} of ${all} expectations do not hold.`;
}

/** Most checks that are shown; those that failed come first. */
const checksMax = 200;

function Checks({ checks }: { readonly checks: readonly ScenarioCheck[] }) {
  const failed = checks.filter(({ hasPassed }) => !hasPassed);
  const shown = [...failed, ...checks.filter(({ hasPassed }) => hasPassed)].slice(0, checksMax);
  return (
    <section aria-label="Results">
      <h2 class={failed.length > 0 ? "fault" : "good"}>{summaryOf(checks.length, failed.length)}</h2>
      {shown.length > 0 && (
        <section class="table" aria-label="Expectations">
          <table>
            <thead>
              <tr>
                <th scope="col">Result</th>
                <th scope="col">Scenario</th>
                <th scope="col">Fan</th>
                <th scope="col">What</th>
                <th scope="col">Expected</th>
                <th scope="col">Is</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ hasPassed, scenario, user, what, expected, actual, pointer }) => (
                <tr key={pointer}>
                  <th scope="row" class={hasPassed ? "good" : "fault"}>
                    {hasPassed ? "✓ holds" : "✗ does not hold"}
                  </th>
                  <td>{scenario}</td>
                  <td>{user}</td>
                  <td>{what}</td>
                  <td>{JSON.stringify(expected)}</td>
                  <td>{JSON.stringify(actual)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  );
}

/** A scenario with the first action and metric of a configuration. */
function exampleFor(configuration: unknown): unknown {
  const { actions, metrics } = isMembers(configuration) ? configuration : {};
  const first = (list: unknown, name: string): unknown => (Array.isArray(list) ? list[0]?.[name] : undefined);
  const action = first(actions, "name") ?? "vote";
  const metric = String(first(metrics, "id") ?? "points");
  const steps = [
    { at: "2026-12-05T12:00:00Z", user: "ann", action },
    { at: "2026-12-05T12:00:10Z", user: "ann", expect: { metrics: { [metric]: 5 } } },
  ];
  return { scenarios: [{ name: `What a fan has after one ${action}`, steps }] };
}

const keyOf = (spaceId: string): string => `scenarios of ${spaceId}`;

/** Scenarios stay on the device; where storage is blocked, until the page is left. */
function keptText(spaceId: string): string | null {
  try {
    return localStorage.getItem(keyOf(spaceId));
  } catch {
    return null;
  }
}

function keepText(spaceId: string, text: string): void {
  try {
    localStorage.setItem(keyOf(spaceId), text);
  } catch {}
}

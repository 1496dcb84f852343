/** The boards of the project: the leaders, and the fan among the others. */

import type { Leaderboard } from "../../../client/mod.ts";
import { Rows, useOwnRows } from "./parts.tsx";
import type { Show } from "./show.ts";
import { boardName, clockTime, days, percent, t } from "./texts.ts";

/** Entries around the fan. */
const aroundLimit = 5;
const aroundMs = 15_000;
/** Largest part of the fans that is called the top of them. */
const topMax = 0.5;

export function Board({ show, rest }: { readonly show: Show; readonly rest: string }) {
  const { listedBoards: boards } = show;
  const id = boards.find(each => each === rest) ?? boards[0];
  if (id === undefined) return <p class="card empty">{t("noBoards")}</p>;
  return (
    <section class="board">
      <div class="tabs">
        {boards.map(each => (
          <a
            key={each}
            href={`#/board/${encodeURIComponent(each)}`}
            {...(each === id && { "aria-current": "true" as const })}
          >
            {boardName(each)}
          </a>
        ))}
      </div>
      <Leaders key={id} show={show} id={id} />
    </section>
  );
}

function Leaders({ show, id }: { readonly show: Show; readonly id: string }) {
  const board = show.boards.get(id)?.value ?? undefined;
  const userId = show.fan.value?.userId;
  const around = useOwnRows(show, { id, leaders: board?.data, limit: aroundLimit, everyMs: aroundMs });
  if (board === undefined)
    return (
      <div aria-busy="true">
        {Array.from({ length: 10 }, (_, index) => (
          <div key={index} class="row-skeleton skeleton" />
        ))}
      </div>
    );
  if (board.data.length === 0) return <p class="card empty">{t("emptyBoard")}</p>;
  const age = show.age();
  const own = around?.entries.find(entry => entry.userId === userId);
  const part = own && Math.ceil((100 * own.rank) / Math.max(board.totalCount, own.rank)) / 100;
  return (
    <div class="card" data-old={age > 0}>
      <Season board={board} />
      <Rows entries={board.data} userId={userId} />
      <p class="quiet">
        {t("fans", { count: board.totalCount })} · {t("asOf", { time: clockTime(Date.now() - age) })}
      </p>
      {around !== null && (
        <>
          <h2>
            {t("you")}
            {part !== undefined && part <= topMax && (
              <span class="note"> {t("top", { share: percent(part) })}</span>
            )}
          </h2>
          <Rows entries={around.entries} userId={userId} />
          <p class="quiet">{t("asOf", { time: clockTime(Date.now() - (performance.now() - around.at)) })}</p>
        </>
      )}
    </div>
  );
}

/** The days of the season that the board shows; nothing where it has none. */
function Season({ board: { meta } }: { readonly board: Leaderboard }) {
  if (meta.season === undefined) return null;
  const { startsAt, endsAt } = meta.season;
  return <p class="quiet">{days(Date.parse(startsAt), Date.parse(endsAt) - 1)}</p>;
}

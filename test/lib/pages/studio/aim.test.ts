/** Presses that meet what has come under the pointer. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Aim, type Place } from "../../../../lib/pages/studio/page/run/aim.ts";

describe("the aim of a press", () => {
  const place: Place = { x: 300, y: 100 };
  /** What is under the pointer; elsewhere is nothing. */
  function aimed() {
    const page = { button: "One Stop" };
    const aim = new Aim(({ x, y }) => (Math.hypot(x - place.x, y - place.y) < 50 ? page.button : ""));
    aim.point(place);
    return { page, aim };
  }

  it("is missed for 600 ms once another button has come under the pointer", () => {
    const { page, aim } = aimed();
    aim.draw(1_000);
    assert.equal(aim.isStray(1_001), false, "the same button");
    page.button = "Two Stop";
    aim.draw(2_000);
    assert.equal(aim.isStray(2_599), true);
    assert.equal(aim.isStray(2_600), false);
  });

  it("is missed by a pointer that trembles, and not by one that moved on or pressed nothing", () => {
    const { page, aim } = aimed();
    page.button = "Two Stop";
    aim.draw(2_000);
    aim.point({ x: place.x + 20, y: place.y });
    assert.equal(aim.isStray(2_100), true);
    aim.point({ x: place.x + 40, y: place.y });
    aim.point(place);
    assert.equal(aim.isStray(2_100), false, "somebody went away and came back");
    page.button = "";
    aim.draw(3_000);
    assert.equal(aim.isStray(3_100), false);
  });

  it("is not missed where the page was scrolled, or where no pointer was", () => {
    const { page, aim } = aimed();
    page.button = "Two Stop";
    aim.point();
    aim.draw(2_000);
    assert.equal(aim.isStray(2_100), false);
    const untouched = new Aim(() => "One Stop");
    untouched.draw(2_000);
    assert.equal(untouched.isStray(2_100), false);
  });
});

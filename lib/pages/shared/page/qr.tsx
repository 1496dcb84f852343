/** QR codes. */

import { useEffect, useState } from "preact/hooks";

interface Drawn {
  readonly size: number;
  readonly path: string;
}

/** Modules of white around a code, without which cameras do not find it. */
const margin = 4;

/** Returns the dark squares of a code as one path. The library loads with the first code. */
async function draw(text: string): Promise<Drawn> {
  const { correction, generate } = await import("lean-qr");
  const code = generate(text, { minCorrectionLevel: correction.M });
  let path = "";
  for (let y = 0; y < code.size; y++) {
    for (let x = 0; x < code.size; x++) if (code.get(x, y)) path += `M${x} ${y}h1v1h-1z`;
  }
  return { size: code.size, path };
}

/** A QR code of an address, black on white in every theme. */
export function Qr({ address, label }: { readonly address: string; readonly label: string }) {
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  useEffect(() => {
    let isLeft = false;
    // Without the library there is still the address in words.
    draw(address).then(
      made => !isLeft && setDrawn(made),
      () => {},
    );
    return () => {
      isLeft = true;
    };
  }, [address]);
  const { size = 0, path = "" } = drawn ?? {};
  const whole = size + 2 * margin;
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`${-margin} ${-margin} ${whole} ${whole}`}>
      <rect x={-margin} y={-margin} width={whole} height={whole} fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
}

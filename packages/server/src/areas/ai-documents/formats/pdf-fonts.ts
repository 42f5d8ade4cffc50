/** Fonts of PDF files. What is used of them is embedded, so that files look alike everywhere and have more than western letters. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Style } from "../making/blocks.ts"

export interface FaceLook {
  readonly bold?: boolean | undefined
  readonly italic?: boolean | undefined
  readonly code?: boolean | undefined
}

/** Gives the name of a font of that look. */
export type Faces = (look: FaceLook) => string

type Family = NonNullable<Style["font"]>

/** Plain, bold, italic, both. */
const FACES: Readonly<Record<Family, readonly [string, string, string, string]>> = {
  sans: ["DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique"],
  serif: ["DejaVuSerif", "DejaVuSerif-Bold", "DejaVuSerif-Italic", "DejaVuSerif-BoldItalic"],
  mono: ["DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSansMono-Oblique", "DejaVuSansMono-BoldOblique"],
}

const { resolve } = createRequire(import.meta.url)

export const readFont = (name: string): Buffer => readFileSync(resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`))

export const createFaces = (pdf: PDFKit.PDFDocument, font: Family): Faces => {
  const registered = new Set<string>()
  return ({ bold, italic, code }) => {
    const index = ((bold ? 1 : 0) + (italic ? 2 : 0)) as 0 | 1 | 2 | 3
    const name = FACES[code ? "mono" : font][index]
    if (!registered.has(name)) pdf.registerFont(name, readFont(name))
    registered.add(name)
    return name
  }
}

/** The one tree from which every format is made. It is stored as JSON, so what a field means never changes. */
import type { DocumentFormat } from "@svc/contract"

/** A piece of text with one look. A line break is `\n` in it. */
export interface Run {
  readonly text: string
  readonly bold?: true
  readonly italic?: true
  readonly strike?: true
  readonly code?: true
  /** `http`, `https` or `mailto` alone. */
  readonly href?: string
}

export type Align = "left" | "center" | "right"

export interface Heading {
  readonly type: "heading"
  readonly level: number
  readonly runs: readonly Run[]
}

export interface ListItem {
  /** Of a task; undefined where it is none. */
  readonly checked?: boolean
  readonly blocks: readonly Block[]
}

export interface Table {
  readonly type: "table"
  readonly aligns: readonly Align[]
  readonly header: readonly (readonly Run[])[]
  readonly rows: readonly (readonly (readonly Run[])[])[]
}

export type Block =
  | Heading
  | { readonly type: "paragraph"; readonly runs: readonly Run[] }
  | { readonly type: "list"; readonly start: number | null; readonly items: readonly ListItem[] }
  | { readonly type: "code"; readonly language: string; readonly text: string }
  | { readonly type: "quote"; readonly blocks: readonly Block[] }
  | Table
  | { readonly type: "rule" }

export interface Style {
  readonly font?: "sans" | "serif" | "mono"
  readonly font_size?: number
  readonly accent?: string
  readonly page_size?: "A4" | "Letter"
  readonly orientation?: "portrait" | "landscape"
}

/** What a file is made of, whatever its format. */
export interface DocumentTree {
  readonly title: string
  readonly style: Style
  readonly blocks: readonly Block[]
}

export interface Edit {
  readonly op:
    | "replace"
    | "insert_before"
    | "insert_after"
    | "delete"
    | "find_replace"
    | "set_data"
    | "restyle"
  readonly target?: string
  readonly text?: string
  readonly find?: string
  readonly data?: Readonly<Record<string, unknown>>
}

/** What a version is made from. */
export interface DocumentSource {
  /** Null: the first heading. */
  readonly title: string | null
  /** Markdown, or a template of Markdown where there is `data`. */
  readonly text: string
  readonly data: Readonly<Record<string, unknown>> | null
  readonly style: Style
  readonly edits: readonly Edit[]
}

export type DocumentTask =
  | {
      readonly kind: "compose"
      readonly source: DocumentSource
      /** How many of the edits were made for earlier versions. */
      readonly earlierEdits: number
      readonly format: DocumentFormat
      readonly createdAt: Date
    }
  | {
      readonly kind: "render"
      readonly tree: DocumentTree
      readonly format: DocumentFormat
      readonly createdAt: Date
    }

export interface ComposedDocument {
  readonly tree: DocumentTree
  readonly words: number
  readonly bytes: Uint8Array
}

export const DEFAULT_FONT_SIZE = 11
export const DEFAULT_ACCENT = "#1f3864"

/** A document that cannot be made; the message is shown to its author. */
export class DocumentProblem extends Error {
  override readonly name = "DocumentProblem"
}

export const textOf = (runs: readonly Run[]): string => runs.map(({ text }) => text).join("")

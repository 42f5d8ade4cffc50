/** What is asked of the thread that runs templates, and what it says. */

export interface RenderedMail {
  readonly subject: string
  readonly html: string | null
  readonly text: string
}

export interface Sources {
  readonly subject: string
  readonly html: string
  /** Null: made from the HTML. */
  readonly text: string | null
}

export type TemplateTask =
  | { readonly kind: "render"; readonly sources: Sources; readonly data: Readonly<Record<string, unknown>> }
  /** Only parses. */
  | { readonly kind: "check"; readonly sources: Sources }
  | { readonly kind: "mjml"; readonly mjml: string }
  | { readonly kind: "plain"; readonly html: string }

export interface ResultOf {
  readonly render: RenderedMail
  readonly check: null
  /** HTML. */
  readonly mjml: string
  /** Text. */
  readonly plain: string
}

/** What a thread says first of all: from now on its time is that of its tasks. */
export const READY = "ready"

/** A thread has one task at a time, and says this once about each. */
export type TemplateAnswer =
  | { readonly result: ResultOf[keyof ResultOf] }
  /** What is wrong with the template, for its author. */
  | { readonly problem: string }

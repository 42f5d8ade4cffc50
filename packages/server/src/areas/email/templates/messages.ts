/** What is asked of the thread that runs templates, and what it answers. */

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

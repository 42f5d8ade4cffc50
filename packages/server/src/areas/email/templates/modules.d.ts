declare module "mjml" {
  interface MjmlError {
    readonly formattedMessage: string
  }
  function mjml2html(
    source: string,
    options: { validationLevel: "strict" | "soft"; ignoreIncludes: boolean; keepComments: boolean },
  ): Promise<{ readonly html: string; readonly errors: readonly MjmlError[] }>

  // biome-ignore lint/style/noDefaultExport: it is theirs.
  export { mjml2html as default }
}

declare module "html-to-text" {
  interface Selector {
    readonly selector: string
    readonly format?: string
    readonly options?: Readonly<Record<string, unknown>>
  }
  export function compile(options: {
    wordwrap: number | false
    limits: Readonly<Record<string, number>>
    selectors: readonly Selector[]
  }): (html: string) => string
}

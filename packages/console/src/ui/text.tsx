import { Fragment } from "react"

/** A sentence of the contract: text whose only mark-up is code between backquotes. */
export const Prose = ({ text }: { readonly text: string }) => (
  <>
    {text.split("`").map((part, at) => (
      // The order of the parts never changes.
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other name
      <Fragment key={at}>{at % 2 === 1 ? <code>{part}</code> : part}</Fragment>
    ))}
  </>
)

/** The same call from elsewhere. */
import type { Sent } from "../calls.ts"
import type { OperationRow } from "../model.ts"
import { Copy } from "../ui/copy.tsx"
import { curlOf, type Input, sdkOf } from "./request.ts"

const Snippet = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <details>
    <summary>{title}</summary>
    <div className="code-box">
      <Copy text={text} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  </details>
)

export const Snippets = ({
  sent,
  input,
  operation,
}: {
  readonly sent: Sent
  readonly input: Input
  readonly operation: OperationRow
}) => (
  <div className="snippets">
    <Snippet title="As curl" text={curlOf(sent, operation.caller)} />
    <Snippet title="As TypeScript" text={sdkOf(operation, input)} />
  </div>
)

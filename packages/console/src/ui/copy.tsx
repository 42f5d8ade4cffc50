import { useEffect, useRef, useState } from "react"

const SHOWN_MS = 1_500

/** Plain HTTP outside this machine has no clipboard for pages; a selected text can still be copied there. */
const copyText = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement("textarea")
    area.value = text
    area.className = "hidden"
    document.body.append(area)
    area.select()
    const copied = document.execCommand("copy")
    area.remove()
    return copied
  }
}

export const Copy = ({ text, what = "Copy" }: { readonly text: string; readonly what?: string }) => {
  const [state, setState] = useState<"idle" | "copied" | "refused">("idle")
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    setState((await copyText(text)) ? "copied" : "refused")
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setState("idle"), SHOWN_MS)
  }
  return (
    <button type="button" className="quiet small" onClick={copy}>
      {state === "copied" ? "Copied" : state === "refused" ? "Select and copy by hand" : what}
    </button>
  )
}

#!/usr/bin/env bash
# Every sentence of render/own_words.cpp is one that the code or a table still says: a changed wording would lose its Chinese.
source "$(dirname "$0")/common.sh" "$@"
cd "$source_dir" || exit 1
cat src/rules/*.cpp src/collect/*.cpp src/loader/*.cpp src/diagnose/*.cpp src/render/trace_words.cpp data/facts/framework_loading.tsv | tr -d '\n' | sed 's/" *"//g' >"$work/said"
sed -n '/^constexpr Sentence sentences/,/^};/s/^ *{"\(.*\)$/\1/p' src/render/own_words.cpp | sed 's/",.*//; s/"$//' >"$work/sentences"
[ "$(wc -l <"$work/sentences")" -gt 60 ] || fail "the sentences were not found in own_words.cpp"
while IFS= read -r sentence; do
  # The longest piece without a hole.
  piece=$(printf '%s' "$sentence" | sed 's/{}/\n/g; s/: /\n/g' | sed 's/lib$//' | awk 'length > length(best) { best = $0 } END { print best }')
  grep -qF -- "$piece" "$work/said" || fail "nobody says \"$piece\" (of \"$sentence\")"
done <"$work/sentences"
finish

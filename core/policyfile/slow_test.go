package policyfile
import ("testing";"strings";"time";"fmt")
func TestSlow(t *testing.T){
 n:=MaxSize
 rep:=func(s string) string {return strings.Repeat(s, n/len(s))}
 m:=map[string]string{
 "[":rep("["),"{":rep("{"),"- ":rep("- "),"? ":rep("? "),"nested9999": strings.Repeat("[",9999)+rep("1,")[:n-20000]+strings.Repeat("]",9999),
 "a: ":rep("a: \n"),"uniq": func() string {var b strings.Builder; for i:=0;b.Len()<n-20;i++{fmt.Fprintf(&b,"k%d: 1\n",i)}; return b.String()}(),
 "routes": func() string {var b strings.Builder; b.WriteString("levels: exempt\nroutes:\n"); for i:=0;b.Len()<n-30;i++{fmt.Fprintf(&b," GET /%d: exempt\n",i)}; return b.String()}(),
 "levels": func() string {var b strings.Builder; b.WriteString("levels:\n"); for i:=0;b.Len()<n-60;i++{fmt.Fprintf(&b,"- {name: l%d, limit: 1/s, key: header:X}\n",i)}; return b.String()}(),
 "limits": func() string {var b strings.Builder; b.WriteString("levels:\n - name: ip\n   limit: ["); for i:=0;b.Len()<n-60;i++{fmt.Fprintf(&b,"1/s,")}; return b.String()+"]"}(),
 "#":rep("#\n"),"# c":"levels:\n"+rep(" # c\n")[:n-100],"a,":"{"+rep("a,")[:n-10]+"}","\\":"\""+rep("\\n")[:n-10]+"\"","|":"a: |\n"+rep(" x\n")[:n-10],"anch":"["+rep("&a a,")[:n-10]+"]",
 "spaces":rep(" "),"nl":rep("\n"), "quotes":rep("'"), "%":rep("%T a\n"), "!":rep("!"), "comments2": "a:\n"+rep("  - b # c\n # d\n")[:n-10], "flow?": rep("[?")[:15000], "tab":rep("\t"), ": ": rep(": "), "---": rep("---\n"),
 }
 for k,s:=range m { if len(s)>n {s=s[:n]}; t0:=time.Now(); f,err:=Parse("p",[]byte(s)); d:=time.Since(t0); e:=fmt.Sprint(err); if len(e)>100{e=e[:100]}; fmt.Printf("%-12s %8v %s\n",k,d.Round(time.Millisecond),e)
  if err==nil && k!="limits" { t0=time.Now(); _,err:=f.Limiter(anyStore{}); fmt.Println("   limiter", time.Since(t0), fmt.Sprint(err)[:50])}
 }
}

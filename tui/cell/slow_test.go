package cell
import ("testing";"time";"strings";"fmt")
func TestSlow(t *testing.T){
 for _,u:=range append(hostile,"\x00","\u0301","\u200d","a\u200d","\u0600","🇩","각","-","a-","\"","(","\u00ad","\u2060a"){
  if u==""{continue}
  s:=strings.Repeat(u,200_000/len(u))
  for n,f:=range map[string]func(){"wrap":func(){Wrap(Of(Base,s),20)},"cut":func(){Cut(Of(Base,s),20)},"width":func(){Width(s)},"clip":func(){Clip(s,1<<20)}, "wrapwide":func(){Wrap(Of(Base,s),1<<20)},"cutwide":func(){Cut(Of(Base,s),1<<20)}}{
   b:=time.Now(); f(); if d:=time.Since(b);d>150*time.Millisecond{fmt.Printf("%s %q %v\n",n,u,d)}
  }
 }
}
